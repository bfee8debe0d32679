/**
 * Goal: three servers on an etcd of three members, behind one address, survive the loss of any
 * part: requests succeed again, watches resume, and no acknowledged write is lost. Method: real
 * processes are killed while a client writes, reads and watches through the address. How long each
 * took is printed; docs/guides/high-availability.md has such runs as a table.
 */
import assert from "node:assert/strict";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { controlLoopsLease } from "@kcp-ts/controlplane/internal";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, connect, Informer, parseKubeconfig } from "@kcp-ts/sdk";
import { configMaps, leases } from "@kcp-ts/sdk/kinds";
import { type EtcdCluster, etcdMissing, eventually, freePorts, startEtcd } from "@kcp-ts/testkit";
import { type KcpProcess, startKcp, temporaryFolder } from "./kcp-process.ts";
import { startOneAddress } from "./one-address.ts";

const servers = [0, 1, 2] as const;
const namespace = "default";

/** What one kill cost, in milliseconds. */
interface Outage {
  readonly part: string;
  /** The longest time without a successful get, and without an acknowledged create. */
  readonly reads: number;
  readonly writes: number;
  /** Until the watch showed a write that came after the kill. */
  readonly watch: number;
}

class Servers {
  readonly #processes: KcpProcess[] = [];

  readonly folder: string;
  readonly ports: readonly number[];
  readonly etcd: EtcdCluster;

  constructor(folder: string, ports: readonly number[], etcd: EtcdCluster) {
    this.folder = folder;
    this.ports = ports;
    this.etcd = etcd;
  }

  /** The files of one root directory are those of all, as docs/guides/install.md says. */
  async start(): Promise<void> {
    const credentials = join(this.folder, "credentials");
    const first = await startKcp(credentials, "--storage", "memory");
    await first.stop();
    for (const at of servers) {
      await cp(credentials, this.#root(at), { recursive: true });
      await this.restart(at);
    }
  }

  async restart(at: number): Promise<void> {
    const storage = ["--etcd-servers", this.etcd.endpoints.join()];
    const port = String(this.ports[at]);
    this.#processes[at] = await startKcp(this.#root(at), ...storage, "--secure-port", port);
  }

  kill(at: number): Promise<void> {
    return (this.#processes[at] as KcpProcess).kill();
  }

  stop(at: number): Promise<number | null> {
    return (this.#processes[at] as KcpProcess).stop();
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.kill()));
  }

  #root(at: number): string {
    return join(this.folder, `server-${at}`);
  }

  async clientAt(port: number, context = "root") {
    const text = await readFile(join(this.#root(0), "admin.kubeconfig"), "utf8");
    const moved = text.replaceAll(/https:\/\/[^/"]+/g, `https://127.0.0.1:${port}`);
    return connect(parseKubeconfig(moved, { trust: "inline" }), { context });
  }
}

/** Writes and reads all the time, one after the other, and remembers when it succeeded. */
class Load {
  readonly acknowledged: string[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  reads: number[] = [];
  writes: number[] = [];

  constructor(client: Client) {
    const resource = client.resource(configMaps);
    let count = 0;
    this.#running = Promise.all([
      this.#repeat(this.reads, () => resource.list({ namespace, limit: 1 })),
      this.#repeat(this.writes, async () => {
        const name = `written-${count}`;
        await resource.create({ metadata: { name, namespace } }).catch((error: unknown) => {
          // The answer to an earlier attempt was lost: the write is there.
          if (!isStatusError(error, "AlreadyExists")) throw error;
        });
        this.acknowledged.push(name);
        count++;
      }),
    ]);
  }

  async #repeat(succeededAt: number[], attempt: () => Promise<unknown>): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const isDone = await attempt().then(
        () => true,
        () => false,
      );
      if (isDone) succeededAt.push(systemClock.monotonic());
      await sleep(systemClock, isDone ? 5 : 20);
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

function longestGap(times: readonly number[], fromMs: number): number {
  const recent = [fromMs, ...times.filter((time) => time > fromMs)];
  return Math.max(...recent.slice(1).map((time, at) => time - (recent[at] as number)));
}

async function start(t: TestContext) {
  const etcd = await startEtcd({ members: 3 });
  t.after(() => etcd.dispose());
  const ports = await freePorts(servers.length);
  const serverSet = new Servers(await temporaryFolder(t), ports, etcd);
  t.after(() => serverSet.close());
  await serverSet.start();
  const address = await startOneAddress(ports);
  t.after(() => address.close());
  const { client, close } = await serverSet.clientAt(address.port);
  t.after(close);
  return { etcd, serverSet, client, address };
}

/** Kills a part, and waits until a write that came after it was acknowledged and seen. */
async function measure(
  load: Load,
  seen: ReadonlySet<string>,
  part: string,
  kill: () => Promise<unknown>,
): Promise<Outage> {
  const fromMs = systemClock.monotonic();
  await kill();
  const before = load.acknowledged.length;
  const after = await eventually(() => {
    const name = load.acknowledged[before + 1];
    assert.ok(name !== undefined, "a write is acknowledged after the kill");
    return name;
  });
  await eventually(() => assert.ok(seen.has(after), "the watch shows it"));
  const watch = systemClock.monotonic() - fromMs;
  const [reads = 0, writes = 0] = [load.reads, load.writes].map((times) =>
    longestGap(times, fromMs),
  );
  return { part, reads, writes, watch };
}

/** One server runs the controllers. */
async function hasControllers(serverSet: Servers, port: number): Promise<void> {
  const { cluster, ...target } = controlLoopsLease;
  const { client, close } = await serverSet.clientAt(port, "shard-base");
  try {
    const { spec } = await client.inCluster(cluster).resource(leases).get(target);
    assert.ok(spec?.holderIdentity, "the Lease has a holder");
  } finally {
    await close();
  }
}

describe("three servers on three members of etcd", { skip: etcdMissing() ?? false }, () => {
  it("survive the loss of any part without a lost write", async (t) => {
    const { etcd, serverSet, client, address } = await start(t);
    const load = new Load(client);
    t.after(() => load.stop());
    const seen = new Set<string>();
    const informer = new Informer({
      client,
      resource: configMaps,
      scope: { cluster: rootCluster },
    });
    informer.addHandler({ added: ({ metadata }) => seen.add(metadata.name) });
    const stop = new AbortController();
    t.after(() => stop.abort());
    const watching = informer.run(stop.signal);
    await informer.synced();
    const outage = async (part: string, kill: () => Promise<unknown>) =>
      t.diagnostic(JSON.stringify(await measure(load, seen, part, kill)));

    for (const at of servers) {
      await outage(`server ${at} killed`, () => serverSet.kill(at));
      await serverSet.restart(at);
    }
    await hasControllers(serverSet, address.port);
    const leader = await etcd.leader();
    const follower = servers.find((at) => at !== leader) as number;
    for (const [part, at] of [
      ["leader of etcd killed", leader],
      ["follower of etcd killed", follower],
    ] as const) {
      const member = etcd.members[at];
      await outage(part, async () => member?.kill());
      member?.restart();
      await member?.ready();
    }
    for (const at of servers) {
      await outage(`server ${at} stopped`, async () => assert.equal(await serverSet.stop(at), 0));
      await serverSet.restart(at);
    }

    await load.stop();
    const stored = new Set(
      (await client.resource(configMaps).list({ namespace })).items.map(
        ({ metadata }) => metadata.name,
      ),
    );
    t.diagnostic(`${load.acknowledged.length} acknowledged writes`);
    for (const name of load.acknowledged) assert.ok(stored.has(name), `${name} is lost`);
    await eventually(() => {
      for (const name of load.acknowledged) assert.ok(seen.has(name), `${name} was never seen`);
    });
    stop.abort();
    await watching;
  });
});
