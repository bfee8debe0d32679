import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Revision, StorageKey } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FakeClock, FaultyStorage, supervisorFor } from "../testing/index.ts";
import { CollectionCache } from "./collection-cache.ts";
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
  const names = async (prefix: StorageKey) =>
    ((await cache.get(prefix, signal))?.slice(prefix) ?? []).map(({ key }) => key.slice(-1));
  return { storage, clock, hub, cache, put, remove, names };
}

describe("collections in the cache", () => {
  it("are loaded once for concurrent readers, and follow the events", async () => {
    const { cache, put, remove, names } = await start(1 << 20);
    await put(a, "x", 10);
    const loaded = await Promise.all([cache.get(a, signal), cache.get(a, signal)]);
    assert.equal(loaded[0], loaded[1]);
    await put(a, "y", 10);
    await put(b, "z", 10);
    assert.deepEqual(await names(a), ["x", "y"]);
    await remove(a, "x");
    assert.deepEqual(await names(a), ["y"]);
    assert.equal(cache.size, 1);
  });

  it("report their number of objects, while they are read and when they are too large to be cached", async () => {
    const { cache, clock, put } = await start(20_000);
    assert.equal(cache.countOf(a), undefined);
    await put(a, "x", 10);
    await put(a, "y", 10);
    await cache.get(a, signal);
    assert.equal(cache.countOf(a), 2);
    for (const name of ["1", "2", "3"]) await put(b, name, 5000);
    const loading = cache.get(b, signal);
    assert.equal(cache.countOf(b), 0);
    assert.equal(await loading, undefined);
    assert.equal(cache.countOf(b), 3);
    // A collection that outgrows the budget while it is cached is counted, too.
    for (const name of ["1", "2", "3"]) await put(a, name, 5000);
    assert.equal(cache.size, 0);
    assert.ok((cache.countOf(a) ?? 0) >= 4);
    clock.advance(130_000);
    cache.sweep();
    assert.deepEqual([cache.countOf(a), cache.countOf(b)], [undefined, undefined]);
  });

  it("count their bytes, down to zero", async () => {
    const { cache, put, remove } = await start(1 << 20);
    await put(a, "x", 1000);
    await cache.get(a, signal);
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
    const { cache } = await start(20_000);
    for (let i = 0; i < 100; i++) {
      const empty = await cache.get(`/g/r//invented-${i}/` as StorageKey, signal);
      assert.equal(empty?.size, 0);
    }
    assert.ok(cache.size > 0 && cache.size < 20, `${cache.size} collections`);
  });

  it("are evicted after two minutes without a read", async () => {
    const { cache, clock, put } = await start(1 << 20);
    await put(a, "x", 10);
    await cache.get(a, signal);
    clock.advance(120_000);
    cache.sweep();
    assert.equal(cache.size, 1);
    clock.advance(1);
    cache.sweep();
    assert.equal(cache.size, 0);
  });

  it("are evicted in favour of those used later when the budget is spent", async () => {
    const { cache, put } = await start(7000);
    await put(a, "x", 1500);
    await put(b, "x", 1500);
    await cache.get(a, signal);
    await cache.get(b, signal);
    assert.equal(cache.size, 2);
    const c = "/g/r//c/" as StorageKey;
    await put(c, "x", 1500);
    await cache.get(a, signal);
    await cache.get(c, signal);
    assert.ok(cache.bytes <= 7000);
    assert.equal(cache.peek(b), undefined);
    assert.ok(cache.peek(a) !== undefined && cache.peek(c) !== undefined);
  });

  it("larger than half the budget are not cached, and not tried again for a while", async () => {
    const { cache, clock, put } = await start(4000);
    await put(a, "x", 3000);
    assert.equal(await cache.get(a, signal), undefined);
    await put(a, "x", 10);
    assert.equal(await cache.get(a, signal), undefined);
    clock.advance(120_001);
    assert.notEqual(await cache.get(a, signal), undefined);
  });

  it("that grow over half the budget while they are cached are evicted", async () => {
    const { cache, put } = await start(10_000);
    await put(a, "x", 10);
    await cache.get(a, signal);
    for (let i = 0; i < 40; i++) {
      await put(a, `x${i}`, 1000);
      assert.ok(cache.bytes <= 10_000, `${cache.bytes} bytes are held`);
    }
    assert.equal(cache.size, 0);
  });

  it("that grow together over the budget evict each other", async () => {
    const { cache, put } = await start(13_000);
    for (const prefix of [a, b]) {
      await put(prefix, "x", 10);
      await cache.get(prefix, signal);
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
    const { storage, clock, hub, cache, put, names } = await start(1 << 20);
    await put(a, "x", 10);
    await cache.get(a, signal);
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
    assert.deepEqual(await names(a), ["x", "y"]);
    await hub.close();
  });

  it("a store that fails while a collection is loaded is the reader's error, and the next reader tries again", async () => {
    const { storage, cache, put, names } = await start(1 << 20);
    await put(a, "x", 10);
    storage.fail();
    await assert.rejects(cache.get(a, signal), { code: "unavailable" });
    storage.recover();
    assert.deepEqual(await names(a).catch(() => []), ["x"]);
  });
});

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
