/**
 * Goal: whatever happens between an informer and its server, the store ends up equal to the
 * server's state, and the events of the handlers add up to the store. Method: seeded histories of
 * writes and faults on a fake clock, then a quiet period, then a comparison. A failure prints its
 * seed; run it alone with SOAK_SEED=<seed>, more of them with SOAK_SEEDS=<number>.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import { Informer } from "./informer.ts";
import { injectRandomFault } from "./inject-random-fault.ts";
import { formatKey } from "./object-key.ts";
import { metadataOnly } from "./transforms.ts";

const resource = "example.io/v1/things";
const things = defineResource<KubernetesObject>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});

const seeds = process.env["SOAK_SEED"]
  ? [Number(process.env["SOAK_SEED"])]
  : Array.from({ length: Number(process.env["SOAK_SEEDS"] ?? 400) }, (_, i) => i + 1);
const stepsPerSeed = 120;

/** All that is looked at here, and all that is left by the leanest transform. */
interface Versioned {
  readonly metadata: { readonly resourceVersion?: string | undefined };
}

describe("an informer under faults", () => {
  it(`ends up with the server's state for ${seeds.length} seeds`, async () => {
    for (const seed of seeds) {
      try {
        await soak(seed);
      } catch (error) {
        throw new Error(`SOAK_SEED=${seed} fails`, { cause: error });
      }
    }
  });
});

async function soak(seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock, watchList: random.chance(0.6) });
  const client = new Client({ transport: server.transport(), clock, random: random.fork() });
  const isWild = random.chance(0.5);
  const contradictions: Error[] = [];
  const informer = new Informer<KubernetesObject, Versioned>({
    client,
    resource: things,
    transform: random.chance(0.4) ? metadataOnly : undefined,
    scope: isWild ? "all-clusters" : { cluster: "root" as ClusterName },
    pageSize: 1 + random.integer(5),
    liveObjectsMax: random.pick([0, 2, 5, 1000]),
    watchList: random.chance(0.7),
    onError(error) {
      if (error instanceof assert.AssertionError) contradictions.push(error);
    },
    indexers: { version: { values: ({ metadata }) => [metadata.resourceVersion ?? ""] } },
  });
  const mirror = new Map<string, string>();
  informer.addHandler({
    added(object, { key }) {
      assert.ok(!mirror.has(formatKey(key)), `${formatKey(key)} was added twice`);
      mirror.set(formatKey(key), object.metadata.resourceVersion ?? "");
    },
    updated(object, { key, previous }) {
      assert.equal(mirror.get(formatKey(key)), previous.metadata.resourceVersion);
      mirror.set(formatKey(key), object.metadata.resourceVersion ?? "");
    },
    deleted(_, { key }) {
      assert.ok(mirror.delete(formatKey(key)), `${formatKey(key)} was deleted twice`);
    },
  });
  const controller = new AbortController();
  const done = informer.run(controller.signal);
  for (let step = 0; step < stepsPerSeed; step++) {
    injectRandomFault(server, random, resource);
    if (random.chance(0.5)) await clock.advanceAndFlush(random.integer(3) * random.integer(4000));
  }
  server.watchList = true;
  await clock.advanceAndFlush(3_600_000);
  assert.deepEqual(contradictions, [], "handlers heard things that cannot follow each other");
  compare(server, informer, mirror, isWild);
  controller.abort();
  await done;
  assert.equal(clock.pendingTimers, 0, "timers are left behind");
}

function compare(
  server: FakeApiServer,
  informer: Informer<KubernetesObject, Versioned>,
  mirror: ReadonlyMap<string, string>,
  isWild: boolean,
): void {
  const expected = new Map<string, string>();
  for (const [stored, object] of server.store.stateAt(server.store.revision) ?? []) {
    const [, cluster, namespace, name] = stored.split("|");
    if (!isWild && cluster !== "root") continue;
    expected.set(`${cluster}|${namespace}/${name}`, object.metadata.resourceVersion ?? "");
  }
  const actual = new Map<string, string>();
  for (const [key, { metadata }] of informer.store.entries()) {
    const value = metadata.resourceVersion ?? "";
    actual.set(formatKey(key), value);
    const { cluster } = key;
    assert.equal(informer.store.byIndex("version", { cluster, value }).length, 1);
  }
  const sorted = (map: ReadonlyMap<string, string>) => [...map].sort();
  assert.deepEqual(sorted(actual), sorted(expected), "the store is not the server's state");
  assert.deepEqual(sorted(mirror), sorted(actual), "what handlers heard is not the store");
  assert.equal(informer.health.state, "watching");
}
