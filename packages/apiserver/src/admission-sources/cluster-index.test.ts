/**
 * Goal: the index of a cluster matches the stored objects, from the first load on and through every
 * write.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { objectKey, parseObjectKey, type Revision } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FakeClock, supervisorFor } from "../testing/index.ts";
import { WatchCache } from "../watch-cache/index.ts";
import { ClusterIndex } from "./cluster-index.ts";

const collection = { group: "g", resource: "r", identity: "" };
const { signal } = new AbortController();
const cluster = (name: string) => name as ClusterName;

let storage: MemoryStorage;
let watchCache: WatchCache;
beforeEach(async () => {
  storage = new MemoryStorage();
  const clock = new FakeClock();
  const supervisor = supervisorFor(clock);
  watchCache = new WatchCache({ storage, clock, supervisor, onError: () => {} });
  await watchCache.start();
});
afterEach(async () => {
  await watchCache.close();
  await storage.close();
});

function open(
  clustersMax = 100,
  mayContain?: (cluster: ClusterName) => boolean,
): ClusterIndex<Set<string>> {
  return new ClusterIndex<Set<string>>({
    mayContain,
    storage,
    hub: watchCache.hub,
    collections: [collection],
    clustersMax,
    create: () => new Set(),
    apply: (names, key, entry) => {
      const { name } = parseObjectKey(key);
      if (entry === undefined) names.delete(name);
      else names.add(name);
    },
  });
}

async function put(of: string, name: string): Promise<Revision> {
  const key = objectKey({ ...collection, cluster: cluster(of), namespace: "", name });
  const revision = await storage.commit(
    { key, value: Buffer.from("{}"), expected: "absent" },
    { signal },
  );
  await watchCache.hub.waitForRevision(revision, signal);
  return revision;
}

describe("the index of a cluster", () => {
  it("is loaded when it is first requested, and follows writes", async () => {
    await put("a", "one");
    const index = open();
    assert.equal(index.peek(cluster("a")), undefined);
    const known = await index.load(cluster("a"));
    assert.deepEqual([...known], ["one"]);
    await put("a", "two");
    await put("b", "three");
    assert.equal(index.peek(cluster("a")), known);
    assert.deepEqual([...known], ["one", "two"]);
    assert.deepEqual([...(await index.load(cluster("b")))], ["three"]);
  });

  it("includes every write during its load", async () => {
    const index = open();
    const loads = Array.from({ length: 20 }, async (_, at) => {
      const loading = index.load(cluster(`c${at}`));
      await put(`c${at}`, "meanwhile");
      return [...(await loading)].length + (index.peek(cluster(`c${at}`))?.size ?? 0);
    });
    for (const sizes of await Promise.all(loads)) assert.ok(sizes >= 1);
    for (let at = 0; at < 20; at++)
      assert.deepEqual([...(await index.load(cluster(`c${at}`)))], ["meanwhile"]);
  });

  it("is evicted when many other clusters have been requested since, and the limit is never exceeded", async () => {
    const index = open(4);
    await put("c0", "one");
    for (let at = 0; at < 20; at++) {
      await index.load(cluster(`c${at}`));
      assert.ok(index.size <= 4, `${index.size} clusters`);
    }
    assert.equal(index.peek(cluster("c0")), undefined);
    assert.deepEqual([...(await index.load(cluster("c0")))], ["one"]);
  });

  it("stays when it is requested now and then", async () => {
    const index = open(4);
    const known = await index.load(cluster("often"));
    for (let at = 0; at < 20; at++) {
      await index.load(cluster(`c${at}`));
      assert.equal(index.peek(cluster("often")), known);
    }
  });
});

describe("the index of a cluster without objects", () => {
  it("is shared with other clusters until an object is written", async () => {
    const index = open();
    const nothing = await index.load(cluster("a"));
    assert.equal(await index.load(cluster("b")), nothing);
    await put("a", "one");
    assert.deepEqual([...(index.peek(cluster("a")) ?? [])], ["one"]);
    assert.equal(index.peek(cluster("b")), nothing);
    assert.equal(nothing.size, 0);
    assert.equal((await index.load(cluster("c"))).size, 0);
  });

  it("is not read from storage when the cluster is known to be new, and still follows writes", async () => {
    const index = open(100, () => false);
    let lists = 0;
    const list = storage.list.bind(storage);
    storage.list = (...args) => {
      lists++;
      return list(...args);
    };
    assert.equal((await index.load(cluster("a"))).size, 0);
    assert.equal(lists, 0);
    await put("a", "one");
    assert.deepEqual([...(await index.load(cluster("a")))], ["one"]);
  });

  it("is read from storage when an object is written during the load", async () => {
    const written = new Set<string>();
    const index = open(100, (of) => written.has(of));
    const key = objectKey({ ...collection, cluster: cluster("a"), namespace: "", name: "one" });
    const writing = storage.commit(
      { key, value: Buffer.from("{}"), expected: "absent" },
      { signal },
    );
    watchCache.hub.listen(key, { onEvent: () => written.add("a"), onLost: () => {} });
    const loading = index.load(cluster("a"));
    await writing;
    assert.deepEqual([...(await loading)], ["one"]);
    assert.deepEqual([...(index.peek(cluster("a")) ?? [])], ["one"]);
  });
});

describe("the index of a deleted cluster", () => {
  it("is dropped at once, and again if it is loaded late", async () => {
    const index = open();
    const logical = { group: "core.kcp.io", resource: "logicalclusters", identity: "" };
    watchCache.hub.clusterDeletions.follow(logical);
    const key = objectKey({ ...logical, cluster: cluster("a"), namespace: "", name: "cluster" });
    const value = Buffer.from("{}");
    const made = await storage.commit({ key, value, expected: "absent" }, { signal });
    await index.load(cluster("a"));
    await index.load(cluster("b"));
    assert.equal(index.size, 2);
    const gone = await storage.commit({ key, value: "delete", expected: made }, { signal });
    await watchCache.hub.waitForRevision(gone, signal);
    assert.equal(index.size, 1);
    await index.load(cluster("a"));
    assert.equal(index.size, 2);
    for (let i = 0; i < 2; i++) watchCache.hub.trimRing();
    assert.equal(index.size, 1);
    assert.notEqual(index.peek(cluster("b")), undefined);
  });
});
