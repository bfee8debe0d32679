import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Revision, StorageKey } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FakeClock, FaultyStorage, supervisorFor } from "../testing/index.ts";
import { type CachedQuery, CollectionCache } from "./collection-cache.ts";
import { WatchHub } from "./watch-hub.ts";

const { signal } = new AbortController();
const a = "/g/r//a/" as StorageKey;
const b = "/g/r//b/" as StorageKey;

async function start(bytesMax: number) {
  const storage = new FaultyStorage(new MemoryStorage());
  const clock = new FakeClock();
  const hub = new WatchHub({ storage, clock, supervisor: supervisorFor(clock), onError: () => {} });
  await hub.start();
  const cache = new CollectionCache({ storage, hub, clock, bytesMax });
  const put = async (prefix: StorageKey, name: string, bytes: number): Promise<void> => {
    const key = `${prefix}n/${name}` as StorageKey;
    const found = await storage.get(key, { signal });
    const expected = found?.modifiedAt ?? ("absent" as const);
    const revision = await storage.commit(
      { key, value: Buffer.alloc(bytes), expected },
      { signal },
    );
    await hub.waitForRevision(revision, signal);
  };
  const remove = async (prefix: StorageKey, name: string): Promise<void> => {
    const key = `${prefix}n/${name}` as StorageKey;
    const expected = (await storage.get(key, { signal }))?.modifiedAt as Revision;
    await hub.waitForRevision(
      await storage.commit({ key, value: "delete", expected }, { signal }),
      signal,
    );
  };
  const read = async (prefix: StorageKey, query: Partial<CachedQuery> = {}) => {
    const whole = { collection: prefix, prefix, ...query };
    return cache.find(whole) ?? (await cache.load(whole, signal));
  };
  const names = async (prefix: StorageKey, query: Partial<CachedQuery> = {}) =>
    ((await read(prefix, query)) ?? []).map(({ key }) => key.slice(prefix.length));
  /** Whether the collection is in memory; counts as a use. */
  const holds = (prefix: StorageKey) => cache.find({ collection: prefix, prefix }) !== undefined;
  return { storage, clock, hub, cache, put, remove, read, names, holds };
}

describe("collections in the cache", () => {
  it("are loaded once for concurrent readers, and follow the events", async () => {
    const { storage, cache, put, remove, read, names } = await start(1 << 20);
    await put(a, "x", 10);
    const reads = countReads(storage);
    await Promise.all([read(a), read(a)]);
    assert.equal(reads(), 1);
    await put(a, "y", 10);
    await put(b, "z", 10);
    assert.deepEqual(await names(a), ["n/x", "n/y"]);
    await remove(a, "x");
    assert.deepEqual(await names(a), ["n/y"]);
    assert.equal(cache.size, 1);
  });

  it("report their number of objects, while they are read and when they are too large to be cached", async () => {
    const { cache, clock, put, read } = await start(20_000);
    assert.equal(cache.countOf(a, a), undefined);
    await put(a, "x", 10);
    await put(a, "y", 10);
    await read(a);
    assert.equal(cache.countOf(a, a), 2);
    assert.equal(cache.countOf(a, `${a}n/` as StorageKey), 2);
    assert.equal(cache.countOf(a, `${a}m/` as StorageKey), 0);
    for (const name of ["1", "2", "3"]) await put(b, name, 5000);
    const loading = read(b);
    assert.equal(cache.countOf(b, b), 0);
    assert.equal(await loading, undefined);
    assert.equal(cache.countOf(b, b), 3);
    // A collection that outgrows the budget while it is cached is counted, too.
    for (const name of ["1", "2", "3"]) await put(a, name, 5000);
    assert.equal(cache.size, 0);
    assert.ok((cache.countOf(a, a) ?? 0) >= 4);
    clock.advance(130_000);
    cache.sweep();
    assert.deepEqual([cache.countOf(a, a), cache.countOf(b, b)], [undefined, undefined]);
  });

  it("count their bytes, down to zero", async () => {
    const { cache, put, remove, read } = await start(1 << 20);
    await put(a, "x", 1000);
    await read(a);
    const one = cache.bytes;
    await put(a, "x", 3000);
    assert.equal(cache.bytes, one + 2000);
    await put(a, "y", 1000);
    const two = cache.bytes;
    await remove(a, "x");
    await put(a, "x", 3000);
    assert.equal(cache.bytes, two);
    await remove(a, "x");
    await remove(a, "y");
    // The collection itself remains.
    assert.ok(cache.bytes > 0 && cache.bytes < one, `${cache.bytes}`);
  });

  it("are bounded in number also when they are empty", async () => {
    const { cache, read } = await start(20_000);
    for (let i = 0; i < 100; i++)
      assert.deepEqual(await read(`/g/r//invented-${i}/` as StorageKey), []);
    assert.ok(cache.size > 0 && cache.size < 20, `${cache.size} collections`);
  });

  it("are evicted after two minutes without a read", async () => {
    const { cache, clock, put, read } = await start(1 << 20);
    await put(a, "x", 10);
    await read(a);
    clock.advance(120_000);
    cache.sweep();
    assert.equal(cache.size, 1);
    clock.advance(1);
    cache.sweep();
    assert.equal(cache.size, 0);
  });

  it("are evicted in favour of those used later when the budget is spent", async () => {
    const { cache, put, read, holds } = await start(7000);
    await put(a, "x", 1500);
    await put(b, "x", 1500);
    await read(a);
    await read(b);
    assert.equal(cache.size, 2);
    const c = "/g/r//c/" as StorageKey;
    await put(c, "x", 1500);
    await read(a);
    await read(c);
    assert.ok(cache.bytes <= 7000);
    assert.deepEqual([holds(a), holds(b), holds(c)], [true, false, true]);
  });

  it("larger than half the budget are not cached, and not tried again for a while", async () => {
    const { clock, put, read } = await start(4000);
    await put(a, "x", 3000);
    assert.equal(await read(a), undefined);
    await put(a, "x", 10);
    assert.equal(await read(a), undefined);
    clock.advance(120_001);
    assert.notEqual(await read(a), undefined);
  });

  it("that grow over half the budget while they are cached are evicted", async () => {
    const { cache, put, read } = await start(10_000);
    await put(a, "x", 10);
    await read(a);
    for (let i = 0; i < 40; i++) {
      await put(a, `x${i}`, 1000);
      assert.ok(cache.bytes <= 10_000, `${cache.bytes} bytes are held`);
    }
    assert.equal(cache.size, 0);
  });

  it("that grow together over the budget evict each other", async () => {
    const { cache, put, read } = await start(13_000);
    for (const prefix of [a, b]) {
      await put(prefix, "x", 10);
      await read(prefix);
    }
    for (let i = 0; i < 3; i++) {
      await put(a, `x${i}`, 1000);
      await put(b, `x${i}`, 1000);
    }
    assert.equal(cache.size, 2);
    await put(a, "big", 2000);
    assert.ok(cache.bytes <= 13_000);
  });

  it("are dropped when continuity is lost, and correct again when reloaded", async () => {
    const { storage, clock, hub, cache, put, read, names } = await start(1 << 20);
    await put(a, "x", 10);
    await read(a);
    storage.fail();
    await settle();
    storage.recover();
    const key = `${a}n/y` as StorageKey;
    await storage.commit({ key, value: Buffer.alloc(1), expected: "absent" }, { signal });
    await storage.compact(await storage.currentRevision({ signal }), { signal });
    for (let i = 0; i < 3; i++) {
      clock.advance(100);
      await settle();
    }
    assert.equal(cache.size, 0);
    assert.equal(cache.bytes, 0);
    assert.deepEqual(await names(a), ["n/x", "n/y"]);
    await hub.close();
  });

  it("a store that fails while a collection is loaded is the reader's error, and the next reader tries again", async () => {
    const { storage, put, read, names } = await start(1 << 20);
    await put(a, "x", 10);
    storage.fail();
    await assert.rejects(read(a), { code: "unavailable" });
    storage.recover();
    assert.deepEqual(await names(a).catch(() => []), ["n/x"]);
  });
});

describe("parts of a collection in the cache", () => {
  const range = (namespace: string) => ({
    collection: a,
    prefix: `${a}${namespace}/` as StorageKey,
  });

  it("are the namespaces that are listed, however large the rest is", async () => {
    const { cache, put, read } = await start(20_000);
    await put(`${a}big/` as StorageKey, "x", 15_000);
    for (const name of ["1", "2"]) await put(a, name, 100);
    assert.equal((await read(a, range("n")))?.length, 2);
    assert.equal(await read(a), undefined);
    assert.equal((await read(a, range("n")))?.length, 2);
    assert.equal(cache.size, 1);
  });

  it("are the pages that are listed, and a page is read again from where it is missing", async () => {
    const { storage, put, names, remove } = await start(1 << 20);
    for (let i = 10; i < 90; i++) await put(a, String(i), 10);
    const reads = countReads(storage);
    const first = (await names(a, { countMax: 40 })).slice(0, 40);
    assert.deepEqual([first.at(0), first.at(-1), reads()], ["n/10", "n/49", 1]);
    assert.equal((await names(a, { countMax: 40 })).length, 40);
    assert.equal(reads(), 1);
    for (let i = 10; i < 30; i++) await remove(a, String(i));
    assert.deepEqual((await names(a, { countMax: 40 })).slice(0, 40).at(-1), "n/69");
    await put(a, "00", 10);
    assert.deepEqual((await names(a, { countMax: 2 })).slice(0, 2), ["n/00", "n/30"]);
  });

  it("serve a revision at which they were what they are", async () => {
    const { hub, cache, put, read } = await start(1 << 20);
    await put(a, "x", 10);
    await read(a);
    const before = hub.revision;
    const query = { collection: a, prefix: a, atRevision: before };
    await put(b, "x", 10);
    assert.equal(cache.find(query)?.length, 1);
    await put(a, "y", 10);
    assert.equal(cache.find(query), undefined);
  });

  it("give up their place to the range that has all of them", async () => {
    const { cache, put, read } = await start(1 << 20);
    for (let i = 10; i < 60; i++) {
      await put(a, String(i), 100);
      await put(`${a}m/` as StorageKey, String(i), 100);
    }
    await Promise.all([read(a, { countMax: 2 }), read(a, range("m")), read(a, range("n"))]);
    assert.ok(cache.size > 1);
    assert.equal((await read(a))?.length, 100);
    assert.equal(cache.size, 1);
  });
});

function countReads(storage: FaultyStorage): () => number {
  const list = storage.list.bind(storage);
  let reads = 0;
  storage.list = (prefix, options) => {
    reads++;
    return list(prefix, options);
  };
  return () => reads;
}

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
