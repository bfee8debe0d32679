import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { key } from "../contract/storage-contract.ts";
import type { Revision } from "../revision.ts";
import type { Entry } from "../storage.ts";
import { createdGenerationShare, EntryCache } from "./entry-cache.ts";

describe("the entry cache", () => {
  it("evicts entries that were not used for a whole generation, and keeps used ones", () => {
    const one = sizeOf(entry("/a", 100));
    const cache = new EntryCache(one * 4);
    for (const name of ["/a", "/b"]) cache.update(key(name), entry(name, 100));
    cache.update(key("/c"), entry("/c", 100));
    assert.notEqual(cache.get(key("/a")), undefined);
    cache.update(key("/d"), entry("/d", 100));
    assert.deepEqual(
      ["/a", "/b", "/c", "/d"].map((name) => cache.get(key(name)) !== undefined),
      [true, false, true, true],
    );
  });

  it("evicts entries that were not used between two calls of evictUnused, and no others", () => {
    const cache = new EntryCache(1 << 20);
    for (const name of ["/a", "/b"]) cache.update(key(name), entry(name, 100));
    cache.evictUnused();
    assert.equal(cache.size, 2);
    cache.get(key("/a"));
    cache.evictUnused();
    assert.deepEqual([cache.get(key("/a")) !== undefined, cache.get(key("/b"))], [true, undefined]);
    cache.evictUnused();
    cache.evictUnused();
    assert.deepEqual([cache.size, cache.bytes], [0, 0]);
  });

  it("never holds more than its budget", () => {
    const one = sizeOf(entry("/a00", 100));
    const cache = new EntryCache(one * 10);
    for (let i = 0; i < 1000; i++) {
      const name = `/a${String(i % 37).padStart(2, "0")}`;
      cache.update(key(name), entry(name, 100));
      cache.get(key(`/a${String((i * 7) % 37).padStart(2, "0")}`));
      assert.ok(cache.bytes <= one * 10);
    }
  });

  it("caches an entry of half its size, and skips a larger one without evicting others", () => {
    const cache = new EntryCache(sizeOf(entry("/a", 100)) * 2);
    cache.update(key("/a"), entry("/a", 100));
    assert.notEqual(cache.get(key("/a")), undefined);
    cache.update(key("/b"), entry("/b", 101));
    assert.equal(cache.get(key("/b")), undefined);
    assert.notEqual(cache.get(key("/a")), undefined);
  });

  it("keeps few of the created entries, but keeps those that were read since like any other", () => {
    const one = sizeOf(entry("/a00", 100));
    const cache = new EntryCache((one * 4) / createdGenerationShare);
    const names = Array.from({ length: 40 }, (_, i) => `/a${String(i).padStart(2, "0")}`);
    for (const name of names) {
      cache.insert(entry(name, 100));
      if (name === "/a01") assert.notEqual(cache.get(key(name)), undefined);
    }
    assert.ok(cache.size <= 9, `${cache.size} are held`);
    const held = names.filter((name) => cache.get(key(name)) !== undefined);
    assert.equal(held[0], "/a01");
    assert.equal(held.at(-1), "/a39");
    cache.update(key("/a39"), undefined);
    assert.equal(cache.get(key("/a39")), undefined);
    cache.insert(entry("/b00", 100));
    cache.update(key("/b00"), entry("/b00", 101));
    assert.equal(cache.get(key("/b00"))?.value.length, 101);
  });

  it("counts an entry that is replaced or deleted only once", () => {
    const cache = new EntryCache(1 << 20);
    cache.update(key("/a"), entry("/a", 10));
    cache.update(key("/a"), entry("/a", 1000));
    assert.equal(cache.bytes, sizeOf(entry("/a", 1000)));
    cache.update(key("/a"), undefined);
    assert.equal(cache.bytes, 0);
  });

  it("keeps an entry that was read, unless its key was written or the cache dropped meanwhile", () => {
    const cache = new EntryCache(1 << 20);
    const read = entry("/a", 1);
    cache.finishLoad(cache.startLoad(key("/a")), read);
    assert.equal(cache.get(key("/a")), read);

    const written = entry("/a", 2);
    const outdated = cache.startLoad(key("/a"));
    cache.update(key("/a"), written);
    cache.finishLoad(outdated, read);
    assert.equal(cache.get(key("/a")), written);

    const deleted = cache.startLoad(key("/a"));
    cache.update(key("/a"), undefined);
    cache.finishLoad(deleted, read);
    assert.equal(cache.get(key("/a")), undefined);

    const dropped = cache.startLoad(key("/a"));
    cache.clear();
    cache.finishLoad(dropped, read);
    assert.equal(cache.get(key("/a")), undefined);
  });

  it("keeps the result of the last of several concurrent reads", () => {
    const cache = new EntryCache(1 << 20);
    const first = cache.startLoad(key("/a"));
    const second = cache.startLoad(key("/a"));
    cache.finishLoad(second, entry("/a", 2));
    cache.finishLoad(first, entry("/a", 1));
    assert.equal(cache.get(key("/a"))?.value.length, 2);
  });
});

function entry(name: string, bytes: number): Entry {
  const revision = 1 as Revision;
  return {
    key: key(name),
    value: new Uint8Array(bytes),
    createdAt: revision,
    modifiedAt: revision,
  };
}

function sizeOf(one: Entry): number {
  const cache = new EntryCache(Number.POSITIVE_INFINITY);
  cache.update(one.key, one);
  return cache.bytes;
}
