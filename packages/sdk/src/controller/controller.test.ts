import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { sleep } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import { formatKey } from "../informer/index.ts";
import { MetricsRegistry } from "../metrics/index.ts";
import { ExponentialFailureRateLimiter } from "../work-queue/index.ts";
import { singleCluster } from "./clusters.ts";
import { Controller, type ControllerOptions, TerminalError } from "./controller.ts";
import { Manager } from "./manager.ts";
import { enqueueByLabel, enqueueOwner } from "./mapping.ts";
import { generationChanged, labelsChanged } from "./predicates.ts";

interface Thing extends KubernetesObject {
  readonly size?: number;
}

const type = { group: "example.io", version: "v1", kind: "Thing", namespaced: true };
const things = defineResource<Thing>({ ...type, resource: "things" });
const parts = defineResource<Thing>({ ...type, resource: "parts", kind: "Part" });
const resource = "example.io/v1/things";
const root = "root" as ClusterName;
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

function world() {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock });
  const random = new SeededRandom(3);
  const client = new Client({ transport: server.transport(), clock, random });
  return { clock, server, client };
}

function setUp(options: Partial<ControllerOptions> = {}) {
  const { clock, server, client } = world();
  const clusters = singleCluster({ client, cluster: root });
  const metrics = new MetricsRegistry();
  const seen: string[] = [];
  const errors: unknown[] = [];
  const controller = new Controller({
    name: "test",
    clusters,
    reconcile: async (key) => void seen.push(formatKey(key)),
    rateLimiter: new ExponentialFailureRateLimiter({ firstMs: 100, mostMs: 10_000 }),
    onError: (error) => errors.push(error),
    metrics,
    clock,
    ...options,
  });
  const stop = new AbortController();
  const put = (name: string, object: Partial<Thing> = {}, cluster = "root") =>
    server.put({ resource, cluster, namespace: "default", name }, object as object);
  const start = async () => {
    const done = new Manager({ clusters: [clusters], controllers: [controller] }).run(stop.signal);
    stops.push(async () => {
      stop.abort();
      await clock.advanceAndFlush(60_000);
      await done;
    });
    await clock.advanceAndFlush(0);
    return done;
  };
  const take = () => seen.splice(0).join(" ");
  return {
    clock,
    server,
    client,
    clusters,
    metrics,
    seen,
    errors,
    controller,
    stop,
    put,
    start,
    take,
  };
}

describe("a controller", () => {
  it("reconciles existing and changed objects, each key once", async () => {
    const { controller, put, start, take, clock, server } = setUp();
    controller.watch(things);
    put("a");
    put("b");
    void start();
    await clock.advanceAndFlush(0);
    assert.equal(take(), "root|default/a root|default/b");
    put("b", { size: 1 });
    put("b", { size: 2 });
    server.remove({ resource, namespace: "default", name: "a" });
    await clock.advanceAndFlush(0);
    assert.deepEqual(take().split(" ").sort(), ["root|default/a", "root|default/b"]);
  });

  it("reconciles nothing before the caches of the cluster have synced", async () => {
    const { controller, put, start, take, clock, server } = setUp();
    controller.watch(things).watch(parts, { map: () => [] });
    put("a");
    server.hang(1);
    void start();
    await clock.advanceAndFlush(10_000);
    assert.equal(take(), "");
    await clock.advanceAndFlush(30_000);
    assert.equal(take(), "root|default/a");
  });

  it("reconciles changes before the objects of the initial list", async () => {
    const { controller, put, start, take, clock } = setUp({
      reconcile: async (key) => {
        await sleep(clock_, 10);
        order.push(key.name);
      },
    });
    const clock_ = clock;
    const order: string[] = [];
    controller.watch(things);
    for (const name of ["a", "b", "c", "d"]) put(name);
    void start();
    await clock.advanceAndFlush(5);
    put("d", { size: 1 });
    await clock.advanceAndFlush(100);
    assert.deepEqual(order, ["a", "d", "b", "c"]);
    take();
  });

  it("reconciles changes that may wait together, and others at once", async () => {
    const { controller, put, start, take, clock } = setUp();
    controller.watch(things, { delayMs: ({ object }) => (object.size === 1 ? 250 : 0) });
    void start();
    await clock.advanceAndFlush(0);
    put("a", { size: 1 });
    await clock.advanceAndFlush(100);
    put("a", { size: 1 });
    await clock.advanceAndFlush(100);
    assert.equal(take(), "");
    await clock.advanceAndFlush(100);
    assert.equal(take(), "root|default/a");
    await clock.advanceAndFlush(1000);
    assert.equal(take(), "");
    put("a", { size: 2 });
    await clock.advanceAndFlush(0);
    assert.equal(take(), "root|default/a");
  });

  it("requeues a failed key with growing backoff, and resets the backoff after a success", async () => {
    let failures = 3;
    const times: number[] = [];
    const { controller, put, start, clock, errors, metrics } = setUp({
      reconcile: async () => {
        times.push(clock_.monotonic());
        if (failures-- > 0) throw new Error("not yet");
      },
    });
    const clock_ = clock;
    controller.watch(things);
    put("a");
    void start();
    await clock.advanceAndFlush(10_000);
    assert.deepEqual(times, [0, 100, 300, 700]);
    assert.equal(errors.length, 3);
    assert.match(metrics.text(), /reconcile_total\{controller="test",result="error"\} 3/);
    assert.match(metrics.text(), /reconcile_total\{controller="test",result="success"\} 1/);
  });

  it("does not requeue a terminal error", async () => {
    let calls = 0;
    const { controller, put, start, clock, metrics } = setUp({
      reconcile: async () => {
        calls++;
        throw new TerminalError("the spec is nonsense");
      },
    });
    controller.watch(things);
    put("a");
    void start();
    await clock.advanceAndFlush(100_000);
    assert.equal(calls, 1);
    assert.match(metrics.text(), /terminal_reconcile_errors_total\{controller="test"\} 1/);
  });

  it("requeues a key after the delay that the reconciler returns", async () => {
    const times: number[] = [];
    const { controller, put, start, clock } = setUp({
      reconcile: async () => {
        times.push(clock_.monotonic());
        return times.length < 3 ? { requeueAfterMs: 5000 } : undefined;
      },
    });
    const clock_ = clock;
    controller.watch(things);
    put("a");
    void start();
    await clock.advanceAndFlush(60_000);
    assert.deepEqual(times, [0, 5000, 10_000]);
  });

  it("reconciles up to its maximum of keys concurrently, and never one key twice", async () => {
    const running = new Set<string>();
    let most = 0;
    const { controller, put, start, clock } = setUp({
      concurrency: 3,
      reconcile: async ({ name }) => {
        assert.ok(!running.has(name), `${name} runs twice`);
        running.add(name);
        most = Math.max(most, running.size);
        await sleep(clock_, 100);
        running.delete(name);
      },
    });
    const clock_ = clock;
    controller.watch(things);
    for (let i = 0; i < 10; i++) put(`n${i}`);
    void start();
    for (let i = 0; i < 20; i++) {
      put(`n${i % 3}`, { size: i });
      await clock.advanceAndFlush(30);
    }
    assert.equal(most, 3);
  });

  it("aborts a reconcile that takes too long, and continues without one that ignores the abort", async () => {
    const heard: string[] = [];
    let release = () => {};
    const { controller, put, start, clock, metrics } = setUp({
      timeoutMs: 1000,
      reconcile: async ({ name }, { signal }) => {
        heard.push(`${name} starts`);
        if (name === "listens") await sleep(clock_, 1e9, signal);
        if (name === "stuck") {
          await new Promise<void>((resolve) => {
            release = resolve;
          });
        }
        heard.push(`${name} ends`);
      },
    });
    const clock_ = clock;
    controller.watch(things);
    put("stuck");
    void start();
    await clock.advanceAndFlush(0);
    put("next");
    put("stuck", { size: 1 });
    await clock.advanceAndFlush(5999);
    assert.deepEqual(heard, ["stuck starts"]);
    await clock.advanceAndFlush(1);
    assert.deepEqual(heard, ["stuck starts", "next starts", "next ends"]);
    release();
    await clock.advanceAndFlush(0);
    assert.deepEqual(heard.slice(3), ["stuck ends", "stuck starts"]);
    release();
    put("listens");
    await clock.advanceAndFlush(1500);
    assert.match(metrics.text(), /reconcile_timeouts_total\{controller="test"\} 2/);
    assert.match(metrics.text(), /reconcile_errors_total\{controller="test"\} 1/);
  });

  it("finishes the reconciles in flight when it stops, and starts no new ones", async () => {
    const heard: string[] = [];
    const { controller, put, start, clock, stop } = setUp({
      reconcile: async ({ name }, { signal }) => {
        await sleep(clock_, 3000, signal);
        heard.push(name);
      },
    });
    const clock_ = clock;
    controller.watch(things);
    put("a");
    put("b");
    const done = start();
    await clock.advanceAndFlush(100);
    stop.abort();
    await clock.advanceAndFlush(3000);
    await done;
    assert.deepEqual(heard, ["a"]);
    assert.equal(clock.pendingTimers, 0);
  });

  it("abandons at its end a reconcile that does not end", async () => {
    const { controller, put, start, clock, stop } = setUp({
      timeoutMs: 1e9,
      reconcile: () => new Promise(() => {}),
    });
    controller.watch(things);
    put("a");
    const done = start();
    await clock.advanceAndFlush(100);
    stop.abort();
    await clock.advanceAndFlush(25_001);
    await done;
  });
});

describe("mappings and predicates", () => {
  const owner = (name: string, controller: boolean) => ({
    apiVersion: "example.io/v2",
    kind: "Thing",
    name,
    uid: "u",
    controller,
  });

  it("map an object to its owner, and to the previous owner when it changes", async () => {
    const { controller, server, start, take, clock } = setUp();
    controller.watch(parts, { map: enqueueOwner(things) });
    void start();
    const part = (name: string) =>
      server.put(
        { resource: "example.io/v1/parts", namespace: "default", name: "p" },
        { metadata: { name: "p", ownerReferences: [owner(name, true), owner("other", false)] } },
      );
    part("first");
    await clock.advanceAndFlush(0);
    assert.equal(take(), "root|default/first");
    part("second");
    await clock.advanceAndFlush(0);
    assert.deepEqual(take().split(" ").sort(), ["root|default/first", "root|default/second"]);
  });

  it("map a label to the object that it names", async () => {
    const { controller, start, take, clock, put } = setUp();
    controller.watch(things, { map: enqueueByLabel("parent") });
    void start();
    put("a", { metadata: { name: "a", labels: { parent: "web" } } });
    put("b");
    await clock.advanceAndFlush(0);
    assert.equal(take(), "root|default/web");
  });

  it("filter changes of the status and changes that are not of labels", async () => {
    const { controller, start, take, clock, put } = setUp();
    controller.watch(things, { predicate: generationChanged });
    void start();
    put("a", { metadata: { name: "a", generation: 1 } });
    await clock.advanceAndFlush(0);
    assert.equal(take(), "root|default/a");
    put("a", { metadata: { name: "a", generation: 1 }, size: 2 });
    await clock.advanceAndFlush(0);
    assert.equal(take(), "");
    put("a", { metadata: { name: "a", generation: 2 } });
    await clock.advanceAndFlush(0);
    assert.equal(take(), "root|default/a");
    const key = { cluster: root, namespace: "", name: "a" };
    const labelled = (labels: Record<string, string>) => ({ metadata: { labels } });
    const change = (a: string, b: string) =>
      labelsChanged({
        type: "updated",
        key,
        previous: labelled({ x: a, y: "1" }),
        object: labelled({ y: "1", x: b }),
      });
    assert.deepEqual([change("1", "1"), change("1", "2")], [false, true]);
  });
});
