import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StorageError, type StorageKey } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FakeClock, supervisorFor } from "../testing/index.ts";
import { WatchCache } from "./watch-cache.ts";

const { signal } = new AbortController();
const prefix = "/g/r//a/n/" as StorageKey;

async function start(storage: MemoryStorage) {
  for (let i = 0; i < 100; i++) {
    const key = `${prefix}${i}` as StorageKey;
    await storage.commit({ key, value: Buffer.alloc(10), expected: "absent" }, { signal });
  }
  const clock = new FakeClock();
  const supervisor = supervisorFor(clock);
  const watchCache = new WatchCache({ storage, clock, supervisor, onError: () => {} });
  await watchCache.start();
  return watchCache;
}

const firstPage = {
  ...{ prefix, collection: "/g/r//a/" as StorageKey, selection: undefined, limit: 10, signal },
  freshness: { kind: "latest" },
} as const;

describe("a page of a list", () => {
  it("says how many objects follow, and counts them once for all pages", async () => {
    const storage = new MemoryStorage();
    const watchCache = await start(storage);
    let counts = 0;
    const count = storage.count.bind(storage);
    storage.count = (...asked) => {
      counts++;
      return count(...asked);
    };
    const first = await watchCache.list(firstPage);
    const { continueAfter, remaining, revision } = first;
    const freshness = { kind: "exact", revision } as const;
    const second = await watchCache.list({ ...firstPage, continueAfter, remaining, freshness });
    await watchCache.list(firstPage);
    assert.deepEqual([remaining, second.remaining, counts], [90, 80, 1]);
    await watchCache.close();
  });

  it("is complete without that number when its revision was compacted meanwhile", async () => {
    const storage = new MemoryStorage();
    const watchCache = await start(storage);
    storage.count = () => Promise.reject(new StorageError("compacted", "compacted"));
    const { entries, continueAfter, remaining } = await watchCache.list(firstPage);
    assert.equal((entries as readonly unknown[]).length, 10);
    assert.deepEqual([continueAfter !== undefined, remaining], [true, undefined]);
    await watchCache.close();
  });
});
