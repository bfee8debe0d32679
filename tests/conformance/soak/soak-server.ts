/**
 * For soak tests: servers that can be restarted and compacted under their clients, ours on each
 * backend and a real kube-apiserver.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Storage } from "@kcp-ts/apiserver/storage";
import { EmbeddedStorage } from "@kcp-ts/apiserver/storage/embedded";
import { EtcdStorage } from "@kcp-ts/apiserver/storage/etcd";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { type Clock, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { authenticatedTransport, Client, NodeTransport } from "@kcp-ts/sdk";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import {
  compactEtcd,
  type EtcdCluster,
  freePorts,
  startEtcd,
  startKubeApiserver,
} from "@kcp-ts/testkit";

export interface SoakServer {
  readonly port: number;
  /** The logical clusters that exist; a plain server has one, and no paths for it. */
  readonly clusters: readonly string[];
  readonly ca: string;
  readonly token: string;
  /** Past the faults: what it is told has happened. */
  clientFor(cluster: string): Client;
  restart(): Promise<void>;
  compact(): Promise<void>;
  close(): Promise<void>;
}

export interface Backend {
  open(): Promise<Storage>;
  dispose(): Promise<void>;
}

/** Its state outlives the servers on it, as that of the others does. */
class LastingMemoryStorage extends MemoryStorage {
  override async close(): Promise<void> {}
}

export async function memoryBackend(): Promise<Backend> {
  const storage = new LastingMemoryStorage();
  return { open: async () => storage, dispose: async () => undefined };
}

export async function embeddedBackend(): Promise<Backend> {
  const directory = await mkdtemp(join(tmpdir(), "kcp-soak-"));
  return {
    open: () =>
      EmbeddedStorage.open({ directory: join(directory, "data"), clock: systemClock, log() {} }),
    dispose: () => rm(directory, { recursive: true, force: true }),
  };
}

export async function etcdBackend(): Promise<Backend> {
  const etcd: EtcdCluster = await startEtcd();
  const { endpoints } = etcd;
  return {
    open: () => EtcdStorage.open({ endpoints, clock: systemClock, random: systemRandom }),
    dispose: () => etcd.dispose(),
  };
}

export async function startSoakServer(backend: Backend, clock: Clock): Promise<SoakServer> {
  let storage = await backend.open();
  const [port = 0] = await freePorts(1);
  let plane = await start(storage, clock, port);
  const server = {
    port,
    clusters: ["root", "one", "two"],
    ca: "",
    token: "",
    clientFor: (cluster: string) => plane.clientFor(cluster),
    async restart() {
      await plane.close();
      storage = await backend.open();
      plane = await start(storage, clock, port);
      await learnCredentials();
    },
    async compact() {
      const { signal } = new AbortController();
      await storage.compact(await storage.currentRevision({ signal }), { signal });
    },
    async close() {
      await plane.close();
      await backend.dispose();
    },
  };
  // Each start makes its own certificates and tokens; clients look them up when they connect.
  const learnCredentials = async () => {
    server.ca = (await plane.listen()).caPem;
    const { users } = JSON.parse(await plane.kubeconfig()) as {
      users: [{ user: { token: string } }];
    };
    server.token = users[0].user.token;
  };
  await learnCredentials();
  return server;
}

async function start(storage: Storage, clock: Clock, port: number): Promise<TestControlPlane> {
  const plane = await startTestControlPlane({ storage, clock, controlLoops: false });
  await plane.listen({ port });
  return plane;
}

export async function startRealServer(): Promise<SoakServer> {
  const { port, ca, token, url, etcd, restart, dispose } = await startKubeApiserver();
  const straight = new NodeTransport({ url: new URL(url), tls: () => ({ ca }) });
  const client = new Client({
    transport: authenticatedTransport(straight, {
      headers: () => ({ authorization: `Bearer ${token}` }),
      certificate: async () => undefined,
      refresh: async () => false,
    }),
  });
  return {
    port,
    clusters: ["root"],
    ca,
    token,
    clientFor: () => client,
    restart,
    compact: () => compactEtcd(etcd.endpoints[0] as string),
    async close() {
      await straight.close();
      await dispose();
    },
  };
}
