/** Data that is evicted from memory is read from the disk: clients see no difference. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { key } from "../contract/storage-contract.ts";
import type { Revision } from "../revision.ts";
import type { Write } from "../storage.ts";
import { openTemporary } from "./temporary-store.ts";

const { signal } = new AbortController();

describe("a store with evicted memory", () => {
  it("holds nothing in memory, and serves the present, the past and its changes as before", async (t) => {
    const { storage, dispose } = await openTemporary();
    t.after(dispose);
    const names = Array.from({ length: 20 }, (_, i) => `/a/${String(i).padStart(2, "0")}`);
    let last = 0 as Revision;
    for (const name of names) {
      const write = { key: key(name), value: Buffer.from(name), expected: "absent" } as const;
      last = await storage.commit(write, { signal });
    }
    const middle = 10 as Revision;
    const seen = async () => ({
      now: (await storage.list(key("/a/"), { signal, entriesMax: 100 })).entries.map((e) => e.key),
      past: await storage.list(key("/a/"), { signal, entriesMax: 100, atRevision: middle }),
      one: await storage.get(key("/a/03"), { signal }),
      gone: await storage.get(key("/a/15"), { signal, atRevision: middle }),
      changes: await changesAfter(middle, last),
    });
    const changesAfter = async (after: Revision, upTo: Revision) => {
      const revisions: Revision[] = [];
      for await (const change of storage.watch(key("/a/"), after, {
        signal,
        bufferedChangesMax: 1000,
      })) {
        if (change.kind !== "progress") revisions.push(change.revision);
        if (change.revision >= upTo) break;
      }
      return revisions;
    };
    const before = await seen();
    assert.equal(before.changes.length, 10);
    assert.ok(storage.cachedCount >= names.length);
    for (let i = 0; i < 2; i++) storage.evictUnused();
    assert.equal(storage.cachedCount, 0);
    assert.deepEqual(await seen(), before);
  });

  it("holds no changes after releaseMemory, and replays all of them", async (t) => {
    const { storage, dispose } = await openTemporary();
    t.after(dispose);
    let last = 0 as Revision;
    for (let i = 0; i < 20; i++) {
      const write = { key: key(`/a/${i}`), value: Buffer.alloc(64 << 10, 1), expected: "absent" };
      last = await storage.commit(write as Write, { signal });
    }
    for (let i = 0; i < 2; i++) storage.evictUnused();
    await storage.commit(
      { key: key("/b"), value: Buffer.from("x"), expected: "absent" },
      { signal },
    );
    const held = storage.cachedCount;
    await storage.releaseMemory();
    assert.equal(storage.cachedCount, held - 1, "the entry is still at hand, its change is not");
    const seen: Revision[] = [];
    const options = { signal, bufferedChangesMax: 1000 };
    for await (const change of storage.watch(key("/a/"), 0 as Revision, options)) {
      if (change.kind === "put") seen.push(change.revision);
      if (change.revision >= last) break;
    }
    assert.equal(seen.length, 20);
  });

  it("keeps delivering changes to watches", async (t) => {
    const { storage, dispose } = await openTemporary();
    t.after(dispose);
    const watch = storage
      .watch(key("/a/"), 0 as Revision, { signal, bufferedChangesMax: 1000 })
      [Symbol.asyncIterator]();
    await watch.next();
    for (let i = 0; i < 3; i++) {
      storage.evictUnused();
      const write = { key: key(`/a/${i}`), value: Buffer.from("x"), expected: "absent" } as const;
      const revision = await storage.commit(write, { signal });
      storage.evictUnused();
      storage.evictUnused();
      const { value } = await watch.next();
      assert.deepEqual([value?.kind, value?.revision], ["put", revision]);
    }
    await watch.return?.(undefined);
  });
});
