/**
 * Goal: a handler without a store that marks and sweeps its entries ends up with the server's state
 * whatever happens on the way; a handler of changes only is notified of every gap. Method: seeded
 * histories of writes and faults on a fake clock. A failure prints its seed; run it alone with
 * SOAK_SEED=<seed>.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import { injectRandomFault } from "./inject-random-fault.ts";
import { formatKey } from "./object-key.ts";
import {
  StorelessInformer,
  type StorelessInformerHandler,
  type StorelessInformerOptions,
} from "./storeless-informer.ts";

const resource = "example.io/v1/things";
const things = defineResource<KubernetesObject>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});
const root = "root" as ClusterName;

const seeds = process.env["SOAK_SEED"]
  ? [Number(process.env["SOAK_SEED"])]
  : Array.from({ length: 300 }, (_, i) => i + 1);
const stepsPerSeed = 120;

/**
 * The state of a level-triggered handler: it marks at a restart, and sweeps when the complete state
 * was delivered.
 */
class Mirror implements StorelessInformerHandler<KubernetesObject> {
  readonly versions = new Map<string, string>();
  #unmarked = new Set<string>();
  restarts = 0;

  restarted(): void {
    this.restarts++;
    this.#unmarked = new Set(this.versions.keys());
  }

  observed(
    { metadata }: KubernetesObject,
    { key }: { key: Parameters<typeof formatKey>[0] },
  ): void {
    this.#unmarked.delete(formatKey(key));
    this.versions.set(formatKey(key), metadata.resourceVersion ?? "");
  }

  deleted(_: KubernetesObject, key: Parameters<typeof formatKey>[0]): void {
    this.versions.delete(formatKey(key));
  }

  synced(): void {
    for (const key of this.#unmarked) this.versions.delete(key);
    this.#unmarked.clear();
  }
}

describe("a storeless informer under faults", () => {
  it(`leads a handler that marks and sweeps to the server's state, for ${seeds.length} seeds`, async () => {
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
  const mirror = new Mirror();
  const follower = new StorelessInformer({
    client,
    resource: things,
    scope: isWild ? "all-clusters" : { cluster: root },
    pageSize: 1 + random.integer(5),
    watchList: random.chance(0.7),
    handler: mirror,
  });
  const controller = new AbortController();
  const done = follower.run(controller.signal);
  for (let step = 0; step < stepsPerSeed; step++) {
    injectRandomFault(server, random, resource);
    if (random.chance(0.5)) await clock.advanceAndFlush(random.integer(3) * random.integer(4000));
  }
  server.watchList = true;
  await clock.advanceAndFlush(3_600_000);
  const expected = new Map<string, string>();
  for (const [stored, object] of server.store.stateAt(server.store.revision) ?? []) {
    const [, cluster, namespace, name] = stored.split("|");
    if (!isWild && cluster !== "root") continue;
    expected.set(`${cluster}|${namespace}/${name}`, object.metadata.resourceVersion ?? "");
  }
  assert.deepEqual([...mirror.versions].sort(), [...expected].sort());
  assert.equal(follower.health.state, "watching");
  controller.abort();
  await done;
  assert.equal(clock.pendingTimers, 0, "timers are left behind");
}

function setUp(options: Partial<StorelessInformerOptions<KubernetesObject>> = {}) {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock, watchList: true });
  const client = new Client({ transport: server.transport(), clock, random: new SeededRandom(1) });
  const heard: string[] = [];
  const errors: unknown[] = [];
  const follower = new StorelessInformer<KubernetesObject>({
    client,
    resource: things,
    scope: { cluster: root },
    onError: (error) => errors.push(error),
    handler: {
      restarted: () => heard.push("restarted"),
      observed: ({ metadata: { name } }, { origin }) => heard.push(`${origin} ${name}`),
      deleted: ({ metadata: { name } }) => heard.push(`deleted ${name}`),
      synced: () => heard.push("caught up"),
    },
    ...options,
  });
  const stop = new AbortController();
  const put = (name: string) => server.put({ resource, namespace: "default", name }, {});
  const remove = (name: string) => server.remove({ resource, namespace: "default", name });
  const take = () => heard.splice(0);
  return { clock, server, follower, stop, put, remove, take, errors, heard };
}

describe("a storeless informer", () => {
  for (const watchList of [true, false]) {
    it(`tells the state, then changes, ${watchList ? "streamed" : "by pages"}`, async () => {
      const { clock, follower, stop, put, remove, take } = setUp({ watchList, pageSize: 1 });
      put("a");
      put("b");
      const done = follower.run(stop.signal);
      await clock.advanceAndFlush(0);
      assert.deepEqual(take(), ["restarted", "state a", "state b", "caught up"]);
      assert.ok(follower.hasSynced);
      put("c");
      put("a");
      remove("b");
      await clock.advanceAndFlush(0);
      assert.deepEqual(take(), ["added c", "modified a", "deleted b"]);
      stop.abort();
      await done;
    });
  }

  it("resumes from the last version when a watch breaks, and delivers no event twice", async () => {
    const { clock, server, follower, stop, put, take } = setUp();
    put("a");
    const done = follower.run(stop.signal);
    await clock.advanceAndFlush(20_000);
    take();
    server.breakWatches();
    put("b");
    await clock.advanceAndFlush(60_000);
    assert.deepEqual(take(), ["added b"]);
    stop.abort();
    await done;
  });

  it("that skips the state receives the start, every change, and every gap", async () => {
    const { clock, server, follower, stop, put, take } = setUp({ state: "skip" });
    put("a");
    const done = follower.run(stop.signal);
    await clock.advanceAndFlush(20_000);
    put("b");
    await clock.advanceAndFlush(0);
    assert.deepEqual(take(), ["restarted", "caught up", "added b"]);
    server.breakWatches();
    put("c");
    server.store.compact();
    await clock.advanceAndFlush(60_000);
    assert.deepEqual(take(), ["restarted", "caught up"]);
    put("d");
    await clock.advanceAndFlush(0);
    assert.deepEqual(take(), ["added d"]);
    stop.abort();
    await done;
  });

  it("reports a handler that throws, and continues", async () => {
    const { clock, follower, stop, put, errors } = setUp({
      handler: {
        observed: () => {
          throw new Error("no");
        },
      },
    });
    put("a");
    const done = follower.run(stop.signal);
    await clock.advanceAndFlush(0);
    put("b");
    await clock.advanceAndFlush(0);
    assert.equal(errors.length, 2);
    assert.equal(follower.health.state, "watching");
    stop.abort();
    await done;
  });
});
