/**
 * Goal: whatever happens between informers and a real server, their stores end up equal to the
 * server's state, and what handlers heard adds up to it. Method: seeded histories of writes, with a
 * proxy between that drops, stalls, swallows, refuses and delays, and a server that is restarted
 * and forgets its history; time runs faster than the real one. Then peace, then a comparison. A
 * failure prints its seed; SOAK_SEED=<seed> runs that one alone, SOAK_SEEDS=<number> more of them,
 * SOAK_HOURS=<hours> as many as fit into so many hours of the informers' time, on each kind of
 * server: one hour takes two minutes.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Clock, sleep, systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  formatKey,
  keyInCluster,
  metadataOnly,
  type NodeTransport,
  type NodeTransportOptions,
} from "@kcp-ts/sdk";
import { configMaps } from "@kcp-ts/sdk/kinds";
import { AcceleratedClock, FaultProxy, SeededRandom } from "@kcp-ts/testkit";
import { clientOver, servers, throughProxy } from "./faulty-network.ts";
import { InformerChecker } from "./informer-checker.ts";
import type { SoakServer } from "./soak-server.ts";

const selector = { labelSelector: "soak=yes" };

/**
 * Half a minute of patience is a second: enough for a busy machine, and an hour takes two minutes.
 */
const speed = 30;
const stepsPerSeed = 60;
const hourMs = 3_600_000;
const hoursWanted = Number(process.env["SOAK_HOURS"] ?? 0);
const seedsWanted = Number(process.env["SOAK_SEEDS"] ?? 2);
const seeds = process.env["SOAK_SEED"]
  ? [Number(process.env["SOAK_SEED"])]
  : Array.from({ length: seedsWanted }, (_, i) => i + 1);

for (const [name, start, missing] of servers) {
  describe(`informers on ${name}, through a faulty network`, { skip: missing ?? false }, () => {
    const clock = new AcceleratedClock(speed);
    let server: SoakServer;
    before(async () => {
      server = await start(clock);
    });
    after(() => server.close());

    if (hoursWanted > 0) {
      const timeout = (hoursWanted * hourMs) / speed + 600_000;
      it(`end up with the server's state, for ${hoursWanted} hours of seeds`, { timeout }, () =>
        soakForHours(server, clock),
      );
      return;
    }
    for (const seed of seeds) {
      it(`end up with the server's state, SOAK_SEED=${seed}`, () => soak(server, clock, seed));
    }
  });
}

async function soakForHours(server: SoakServer, clock: Clock): Promise<void> {
  const endsAtMs = clock.monotonic() + hoursWanted * hourMs;
  for (let seed = 1; clock.monotonic() < endsAtMs; seed++) {
    try {
      await soak(server, clock, seed);
    } catch (error) {
      throw new Error(`SOAK_SEED=${seed} fails`, { cause: error });
    }
  }
}

async function soak(server: SoakServer, clock: Clock, seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const proxy = await FaultProxy.start({ host: "127.0.0.1", port: server.port });
  const transports: NodeTransport[] = [];
  const client = (protocol: NodeTransportOptions["protocol"] = "negotiate") => {
    const transport = throughProxy(server, proxy, { clock, protocol });
    transports.push(transport);
    return clientOver(transport, server, clock);
  };
  const root = { cluster: "root" as ClusterName };
  const common = { resource: configMaps, selector, clock, random: random.fork() };
  const inRoot = server.clusters.length > 1 ? client().inCluster("root") : client();
  const witnesses = [
    new InformerChecker("a stream", { ...common, client: inRoot, scope: root }),
    new InformerChecker("metadata only, packed", {
      ...common,
      client: inRoot,
      scope: root,
      transform: metadataOnly,
      liveObjectsMax: random.integer(5),
      watchList: random.chance(0.5),
    }),
    new InformerChecker("pages over HTTP/1.1", {
      ...common,
      client: server.clusters.length > 1 ? client("http1").inCluster("root") : client("http1"),
      scope: root,
      watchList: false,
      pageSize: 3,
    }),
  ];
  if (server.clusters.length > 1) {
    witnesses.push(
      new InformerChecker("all clusters", { ...common, client: client(), scope: "all-clusters" }),
    );
  }
  try {
    for (let step = 0; step < stepsPerSeed; step++) {
      for (let writes = random.integer(4); writes > 0; writes--) await write(server, random);
      await mishap(server, proxy, random);
      await sleep(systemClock, random.integer(60));
    }
    proxy.setFaults({});
    for (const witness of witnesses) await compare(server, witness);
  } finally {
    proxy.setFaults({});
    await Promise.all(witnesses.map((witness) => witness.stop()));
    await Promise.all(transports.map((transport) => transport.close()));
    await proxy.dispose();
  }
}

async function write(server: SoakServer, random: SeededRandom): Promise<void> {
  const cluster = random.pick(["root", "root", ...server.clusters]);
  const maps = server.clientFor(cluster).resource(configMaps);
  const target = { namespace: "default", name: `n${random.integer(12)}` };
  if (random.chance(0.3)) {
    await untilInTime(() => maps.delete(target).then(ignore, refuseUnless(404)));
    return;
  }
  const labels = { soak: random.chance(0.85) ? "yes" : "no" };
  const object = { metadata: { ...target, labels }, data: { size: String(random.integer(1e6)) } };
  const isNew = await untilInTime(() => maps.create(object).then(() => true, refuseUnless(409)));
  if (isNew === true) return;
  // A deletion that was not in time may take effect behind the look that found the object.
  const patch = () => maps.patch(target, { type: "merge", patch: object });
  await untilInTime(() => patch().then(ignore, refuseUnless(404)));
}

/**
 * The server's patience runs as fast as the informers': on a busy machine a request may be over
 * before it is looked at. It is sent again, since what the history was does not matter, only what
 * the server has at its end.
 */
async function untilInTime<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if ((error as { code?: number }).code !== 504) throw error;
    }
  }
}

const ignore = () => undefined;

function refuseUnless(code: number): (error: unknown) => undefined {
  return (error) => {
    if ((error as { code?: number }).code !== code) throw error;
  };
}

async function mishap(server: SoakServer, proxy: FaultProxy, random: SeededRandom): Promise<void> {
  const dice = random.integer(100);
  if (dice < 50) proxy.setFaults({});
  else if (dice < 60) proxy.dropConnections();
  else if (dice < 68) proxy.stallConnections();
  else if (dice < 74) proxy.setFaults({ blackhole: true });
  else if (dice < 80) proxy.setFaults({ refuse: true });
  else if (dice < 86) proxy.setFaults({ latencyMs: random.integer(40) });
  else if (dice < 90) proxy.setFaults({ bytesPerSecond: 5_000 + random.integer(50_000) });
  else if (dice < 97) await server.compact();
  // A real server takes seconds to start.
  else if (server.clusters.length > 1 || random.chance(0.2)) await server.restart();
}

/**
 * In peace, the informer arrives at the server's state; nothing of what it told on the way is taken
 * back.
 */
async function compare(server: SoakServer, witness: InformerChecker): Promise<void> {
  const clusters = witness.name === "all clusters" ? server.clusters : ["root"];
  let expected = await stateOf(server, clusters);
  for (let waited = 0; waited < patienceMs; waited += 50) {
    if (witness.stored().join() === expected.join()) break;
    await sleep(systemClock, 50);
    expected = await stateOf(server, clusters);
  }
  const { name, contradictions } = witness;
  const { state, lastError } = witness.informer.health;
  const where = `${name}, ${state} after ${String(lastError)}`;
  assert.deepEqual(witness.stored(), expected, `${where}: the store is not the server's state`);
  assert.deepEqual(
    witness.receivedEvents(),
    expected,
    `${name}: what handlers heard is not the store`,
  );
  assert.deepEqual(contradictions, [], `${name}: handlers heard what cannot follow each other`);
}

/** Real time; half an hour of the informer's. */
const patienceMs = 60_000;

async function stateOf(
  server: SoakServer,
  clusters: readonly string[],
): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const cluster of clusters) {
    const maps = server.clientFor(cluster).resource(configMaps);
    const { items } = await untilInTime(() => maps.list(selector));
    for (const object of items) {
      const key = keyInCluster(cluster as ClusterName, object);
      lines.push(`${formatKey(key)} ${object.metadata.resourceVersion}`);
    }
  }
  return lines.sort();
}
