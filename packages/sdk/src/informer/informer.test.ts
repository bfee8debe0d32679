import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import { Informer, type InformerOptions } from "./informer.ts";
import { Informers } from "./informers.ts";
import { formatKey } from "./object-key.ts";
import { metadataOnly } from "./transforms.ts";

interface Thing extends KubernetesObject {
  readonly size?: number;
}

const things = defineResource<Thing>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});
const resource = "example.io/v1/things";
const root = "root" as ClusterName;
const running: AbortController[] = [];
afterEach(() => {
  for (const controller of running.splice(0)) controller.abort();
});

function setUp(
  options: Partial<InformerOptions<Thing, Thing>> & { watchListServer?: boolean | "accepted" } = {},
) {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock, watchList: options.watchListServer ?? true });
  const client = new Client({ transport: server.transport(), clock, random: new SeededRandom(1) });
  const errors: unknown[] = [];
  const informer = new Informer<Thing>({
    client,
    resource: things,
    scope: { cluster: root },
    onError: (error) => errors.push(error),
    ...options,
  });
  const heard: string[] = [];
  informer.addHandler({
    added: (object, { initial }) =>
      heard.push(`added ${object.metadata.name}${initial ? " initially" : ""}`),
    updated: (object, { previous }) =>
      heard.push(`updated ${object.metadata.name} ${previous.size}>${object.size}`),
    deleted: (object, { finalStateUnknown }) =>
      heard.push(`deleted ${object.metadata.name}${finalStateUnknown ? " unseen" : ""}`),
  });
  const controller = new AbortController();
  running.push(controller);
  const put = (name: string, size = 0) =>
    server.put({ resource, namespace: "default", name }, { size });
  const remove = (name: string) => server.remove({ resource, namespace: "default", name });
  const start = async () => {
    const done = informer.run(controller.signal);
    await clock.advanceAndFlush(0);
    return done;
  };
  const names = () =>
    informer.store
      .list()
      .map(({ metadata }) => metadata.name)
      .sort()
      .join();
  return { clock, server, informer, errors, heard, controller, put, remove, start, names };
}

describe("an informer", () => {
  it("is following when a watch was accepted, not while it is requested", async () => {
    const { clock, server, informer, start } = setUp();
    let times = 0;
    informer.addHandler({ resumed: () => void times++ });
    void start();
    await clock.advanceAndFlush(0);
    assert.deepEqual([informer.health.isWatching, times], [true, 1]);
    server.hang(1);
    server.breakWatches();
    await clock.advanceAndFlush(0);
    assert.equal(informer.health.isWatching, false);
    // The watch is requested, and there is no response yet.
    await clock.advanceAndFlush(5000);
    assert.equal(informer.health.state, "watching");
    assert.deepEqual([informer.health.isWatching, times], [false, 1]);
    await clock.advanceAndFlush(60_000);
    assert.deepEqual([informer.health.isWatching, times], [true, 2]);
  });

  for (const [name, options] of [
    ["a server that streams the state", {}],
    ["a server that refuses to", { watchListServer: false }],
    ["a server that agrees to, and whose store cannot", { watchListServer: "accepted" }],
    ["pages by choice", { watchList: false, pageSize: 2 }],
  ] as const) {
    it(`lists the state and follows changes with ${name}`, async () => {
      const { put, remove, start, names, heard, informer, clock, server } = setUp(options);
      for (const one of ["a", "b", "c"]) put(one);
      void start();
      await informer.synced();
      assert.equal(names(), "a,b,c");
      await clock.advanceAndFlush(0);
      put("d");
      put("a", 1);
      remove("b");
      await clock.advanceAndFlush(0);
      assert.equal(names(), "a,c,d");
      assert.deepEqual(heard, [
        "added a initially",
        "added b initially",
        "added c initially",
        "added d",
        "updated a 0>1",
        "deleted b",
      ]);
      assert.equal(server.openWatches, 1);
    });
  }

  it("resumes from the last version when a watch ends, without delivering an event twice", async () => {
    const { put, start, heard, clock, server, names } = setUp();
    put("a");
    void start();
    await clock.advanceAndFlush(20_000);
    server.endWatches();
    put("b");
    await clock.advanceAndFlush(0);
    assert.equal(names(), "a,b");
    assert.deepEqual(heard, ["added a initially", "added b"]);
    assert.equal(server.requests.length, 2);
    assert.match(server.requests[1] ?? "", /resourceVersion=101/);
  });

  it("resumes from a bookmark's version, which history still has when the last event's is compacted", async () => {
    const { put, start, clock, server, names } = setUp();
    put("a");
    void start();
    await clock.advanceAndFlush(20_000);
    for (let i = 0; i < 5; i++) server.store.tick();
    server.sendBookmarks();
    await clock.advanceAndFlush(0);
    server.store.compact();
    server.breakWatches();
    put("b");
    await clock.advanceAndFlush(5000);
    assert.equal(names(), "a,b");
    assert.equal(server.requests.filter((line) => line.includes("sendInitialEvents")).length, 1);
  });

  it("lists again when history is compacted, and delivers the missed changes", async () => {
    const { put, remove, start, heard, clock, server, names } = setUp();
    put("a");
    put("b");
    void start();
    await clock.advanceAndFlush(0);
    server.breakWatches();
    remove("a");
    put("b", 7);
    put("c");
    server.store.compact();
    await clock.advanceAndFlush(60_000);
    assert.equal(names(), "b,c");
    assert.deepEqual(heard.slice(2), ["updated b 0>7", "added c", "deleted a unseen"]);
  });

  it("lists again after missed changes are reported, and keeps its state until then", async () => {
    const { clock, server, informer, put, start, names, heard, errors } = setUp();
    put("a");
    void start();
    await clock.advanceAndFlush(0);
    const listings = () =>
      server.requests.filter((one) => one.includes("sendInitialEvents")).length;
    const before = listings();
    informer.resync();
    informer.resync();
    assert.equal(names(), "a");
    put("b");
    await clock.advanceAndFlush(5000);
    assert.equal(names(), "a,b");
    assert.deepEqual(heard, ["added a initially", "added b"]);
    assert.equal(listings(), before + 1);
    assert.equal(informer.health.state, "watching");
    assert.deepEqual(errors, []);
  });

  it("keeps the identical objects through a relist when they have not changed", async () => {
    const { put, start, clock, server, informer } = setUp();
    put("a");
    void start();
    await clock.advanceAndFlush(0);
    const key = { cluster: root, namespace: "default", name: "a" };
    const before = informer.store.get(key);
    server.breakWatches();
    put("b");
    server.store.compact();
    await clock.advanceAndFlush(60_000);
    assert.ok(before !== undefined);
    assert.equal(informer.store.get(key), before);
  });

  it("waits for the Retry-After of a busy server", async () => {
    const { put, start, clock, server, informer } = setUp();
    put("a");
    server.throttle(1, 25);
    void start();
    await clock.advanceAndFlush(24_999);
    assert.equal(informer.health.hasSynced, false);
    assert.equal(server.requests.length, 1);
    await clock.advanceAndFlush(1);
    assert.equal(informer.health.hasSynced, true);
  });

  it("waits longer after each failure, up to a minute, and never gives up", async () => {
    const { start, clock, server, informer, errors } = setUp();
    server.restart(3_600_000);
    void start();
    await clock.advanceAndFlush(3_599_000);
    assert.ok(errors.length > 60, `${errors.length} attempts in an hour`);
    assert.ok(errors.length < 140, `${errors.length} attempts in an hour`);
    assert.equal(informer.health.state, "waiting");
    await clock.advanceAndFlush(61_000);
    assert.equal(informer.health.hasSynced, true);
    assert.equal(informer.health.lastError, undefined);
  });

  it("detects a connection that died silently", async () => {
    const { put, start, clock, server, names } = setUp();
    void start();
    await clock.advanceAndFlush(0);
    server.stallWatches();
    put("a");
    await clock.advanceAndFlush(60_000);
    assert.equal(names(), "");
    await clock.advanceAndFlush(600_000);
    assert.equal(names(), "a");
  });

  it("times out on a request without a response, and retries", async () => {
    const { put, start, clock, server, names } = setUp();
    put("a");
    server.hang(2);
    void start();
    await clock.advanceAndFlush(120_000);
    assert.equal(names(), "a");
    assert.ok(server.requests.every((line) => line.includes("sendInitialEvents")));
  });

  it("lists without pages when pages expire before the last one", async () => {
    const { put, start, clock, server, names } = setUp({ watchList: false, pageSize: 1 });
    put("a");
    put("b");
    const pushed = server.requests.push.bind(server.requests);
    server.requests.push = (line) => {
      if (line.includes("continue=")) {
        server.store.tick();
        server.store.compact();
      }
      return pushed(line);
    };
    void start();
    await clock.advanceAndFlush(0);
    assert.equal(names(), "a,b");
  });

  it("treats a server that never ends its initial events as one that does not support them", async () => {
    const { put, start, clock, server, names } = setUp();
    put("a");
    server.stallNextWatch();
    void start();
    await clock.advanceAndFlush(62_000);
    assert.equal(names(), "a");
    assert.match(server.requests[1] ?? "", /limit=500/);
  });

  it("lists again when the server was restored from a backup", async () => {
    const { put, start, clock, server, informer, names } = setUp();
    put("a");
    void start();
    await clock.advanceAndFlush(0);
    for (let i = 0; i < 50; i++) server.store.tick();
    server.sendBookmarks();
    await clock.advanceAndFlush(0);
    server.store.rewind(20);
    server.breakWatches();
    await clock.advanceAndFlush(60_000);
    assert.equal(names(), "a");
    assert.equal(informer.health.state, "watching");
    assert.ok(Number(informer.health.resourceVersion) < 150);
  });

  it("stops when its signal is aborted, leaves no timer behind, and delivers no more events", async () => {
    const { put, start, clock, server, heard, controller, informer } = setUp();
    const done = start();
    await clock.advanceAndFlush(0);
    controller.abort();
    await done;
    put("a");
    await clock.advanceAndFlush(1000);
    assert.deepEqual(heard, []);
    assert.equal(informer.health.state, "stopped");
    assert.equal(clock.pendingTimers, 0);
    assert.equal(server.openWatches, 0);
  });

  it("calls the other handlers when a handler throws", async () => {
    const { put, start, clock, heard, informer, errors } = setUp();
    informer.addHandler({
      added() {
        throw new Error("mine");
      },
    });
    put("a");
    void start();
    await clock.advanceAndFlush(0);
    assert.deepEqual(heard, ["added a initially"]);
    assert.match(String(errors[0]), /mine/);
  });

  it("delivers the state to a late handler, and nothing to a removed one", async () => {
    const { put, start, clock, informer } = setUp();
    put("a");
    void start();
    await clock.advanceAndFlush(0);
    const late: string[] = [];
    const registration = informer.addHandler({
      added: ({ metadata }, { initial }) => late.push(`${metadata.name} ${initial}`),
    });
    put("b");
    await clock.advanceAndFlush(0);
    registration.remove();
    put("c");
    await clock.advanceAndFlush(0);
    assert.deepEqual(late, ["a true", "b false"]);
  });
});

describe("an informer of all clusters", () => {
  it("keeps objects of the same name in different clusters apart", async () => {
    const { server, informer, start, clock } = setUp({ scope: "all-clusters" });
    for (const cluster of ["one", "two"]) {
      server.put({ resource, cluster, namespace: "default", name: "a" }, { size: cluster.length });
    }
    void start();
    await clock.advanceAndFlush(0);
    assert.match(server.requests[0] ?? "", /^GET \/clusters\/\*\/apis\//);
    server.put({ resource, cluster: "two", namespace: "default", name: "a" }, { size: 9 });
    await clock.advanceAndFlush(0);
    assert.deepEqual(
      [...informer.store.entries()].map(([key, { size }]) => [formatKey(key), size]),
      [
        ["one|default/a", 3],
        ["two|default/a", 9],
      ],
    );
    assert.equal(informer.store.list({ cluster: "one" as ClusterName }).length, 1);
  });

  it("leaves out and reports an object whose cluster is unknown", async () => {
    const { server, informer, start, clock, errors } = setUp({ scope: "all-clusters" });
    server.put({ resource, cluster: "Not A Name", namespace: "default", name: "a" });
    void start();
    await clock.advanceAndFlush(0);
    assert.equal(informer.store.size, 0);
    assert.match(String(errors[0]), /has no cluster/);
  });
});

describe("indexes and transforms", () => {
  it("follow every change, per cluster or across clusters", async () => {
    const { server, informer, start, clock } = setUp({
      scope: "all-clusters",
      indexers: {
        size: { values: ({ size }) => [String(size)] },
        sizeAnywhere: { acrossClusters: true, values: ({ size }) => [String(size)] },
      },
    });
    const put = (cluster: string, name: string, size: number) =>
      server.put({ resource, cluster, namespace: "default", name }, { size });
    put("one", "a", 1);
    put("one", "b", 1);
    put("two", "a", 1);
    void start();
    await clock.advanceAndFlush(0);
    const one = "one" as ClusterName;
    const look = (value: string) => [
      informer.store.byIndex("size", { cluster: one, value }).length,
      informer.store.keysByIndex("sizeAnywhere", { value }).length,
    ];
    assert.deepEqual(look("1"), [2, 3]);
    put("one", "a", 2);
    server.remove({ resource, cluster: "two", namespace: "default", name: "a" });
    await clock.advanceAndFlush(0);
    assert.deepEqual(
      [look("1"), look("2"), look("3")],
      [
        [1, 1],
        [1, 1],
        [0, 0],
      ],
    );
    assert.throws(() => informer.store.byIndex("size", { value: "1" }), /wrong scope/);
    assert.throws(() => informer.store.byIndex("color", { value: "1" }), /no index/);
  });

  it("cache only the result of the transform", async () => {
    const { clock, server, put } = setUp();
    const client = new Client({ transport: server.transport(), clock });
    const informers = new Informers({ client, scope: { cluster: root } });
    const slim = informers.get(things, { transform: metadataOnly });
    assert.equal(informers.get(things, { transform: metadataOnly }), slim);
    assert.throws(() => informers.get(things), /another transform/);
    put("a", 5);
    const controller = new AbortController();
    const done = informers.run(controller.signal);
    await informers.synced();
    const [object] = slim.store.list();
    assert.deepEqual(Object.keys(object ?? {}), ["metadata"]);
    assert.equal(object?.metadata.name, "a");
    controller.abort();
    await done;
  });
});
