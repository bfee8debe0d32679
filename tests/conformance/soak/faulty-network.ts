/** For tests through a faulty network: the servers behind it, and clients in front of it. */
import type { Clock } from "@kcp-ts/machinery/base";
import {
  authenticatedTransport,
  Client,
  NodeTransport,
  type NodeTransportOptions,
} from "@kcp-ts/sdk";
import { etcdMissing, type FaultProxy, kubeApiserverMissing } from "@kcp-ts/testkit";
import {
  embeddedBackend,
  etcdBackend,
  memoryBackend,
  type SoakServer,
  startRealServer,
  startSoakServer,
} from "./soak-server.ts";

/** Their names, how they are started, and why they cannot be. */
export const servers: readonly [
  string,
  (clock: Clock) => Promise<SoakServer>,
  string | undefined,
][] = [
  ["memory", async (clock) => startSoakServer(await memoryBackend(), clock), undefined],
  ["embedded", async (clock) => startSoakServer(await embeddedBackend(), clock), undefined],
  ["etcd", async (clock) => startSoakServer(await etcdBackend(), clock), etcdMissing()],
  ["a real kube-apiserver", () => startRealServer(), kubeApiserverMissing()],
];

export function throughProxy(
  server: SoakServer,
  proxy: FaultProxy,
  options: Pick<NodeTransportOptions, "clock" | "protocol">,
): NodeTransport {
  const url = new URL(`https://127.0.0.1:${proxy.port}`);
  return new NodeTransport({ ...options, url, tls: () => ({ ca: server.ca }) });
}

export function clientOver(transport: NodeTransport, server: SoakServer, clock: Clock): Client {
  const authenticated = authenticatedTransport(transport, {
    headers: () => ({ authorization: `Bearer ${server.token}` }),
    certificate: async () => undefined,
    refresh: async () => false,
  });
  return new Client({ transport: authenticated, clock });
}
