import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import { call, collect, fill, key, numbered, put, remove } from "../contract/storage-contract.ts";
import type { Revision } from "../revision.ts";
import type { Entry } from "../storage.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import { openTemporary } from "./temporary-store.ts";

describe("backup and restore of the embedded store", () => {
  it("takes a snapshot of one revision during writes", async () => {
    const { storage, dispose } = await openTemporary();
    await fill(storage, numbered("/p/", 2000));
    const before = await storage.list(key(""), { ...call(), entriesMax: 5000 });
    const snapshot = await storage.openSnapshot(call());
    const entries: Entry[] = [];
    for await (const entry of snapshot.entries) {
      if (entries.length % 100 === 0) {
        await storage.commit(remove(entry.key, entry.modifiedAt), call());
        await storage.commit(put(`/new/${entries.length}`, "v", "absent"), call());
      }
      entries.push(entry);
    }
    await snapshot.close();
    assert.equal(snapshot.revision, before.revision);
    assert.deepEqual(entries, before.entries);
    await dispose();
  });

  it("restores entries, their revisions and the current revision", async () => {
    const source = await openTemporary();
    await fill(source.storage, numbered("/p/", 100));
    const first = (await source.storage.get(key("/p/0001"), call())) as Entry;
    const last = await source.storage.commit(put("/p/0001", "2", first.modifiedAt), call());
    const target = await openTemporary();
    const snapshot = await source.storage.openSnapshot(call());
    await target.storage.restoreSnapshot(snapshot, call());
    await snapshot.close();

    for (const reopened of [false, true]) {
      const storage = reopened
        ? await EmbeddedStorage.open({ directory: target.directory, clock: systemClock })
        : target.storage;
      const all = { ...call(), entriesMax: 1000 };
      assert.deepEqual(await storage.list(key(""), all), await source.storage.list(key(""), all));
      assert.equal(await storage.currentRevision(call()), last);
      await assert.rejects(collect(storage, "", (last - 1) as Revision, 1), { code: "compacted" });
      if (reopened) {
        const next = await storage.commit(put("/next", "v", "absent"), call());
        assert.equal(next, last + 1);
        assert.equal((await collect(storage, "", last, 1)).length, 1);
      }
      await storage.close();
    }
    await source.dispose();
    await target.dispose();
  });

  it("restores only into an empty store", async () => {
    const { storage, dispose } = await openTemporary();
    await fill(storage, ["/a"]);
    await assert.rejects(storage.restoreSnapshot({ revision: at(9), entries: some(1) }, call()), {
      code: "conflict",
    });
    await dispose();
  });

  it("ends watches of the empty store with compacted", async () => {
    const { storage, dispose } = await openTemporary();
    const watching = assert.rejects(collect(storage, "", at(0), 1), { code: "compacted" });
    await storage.restoreSnapshot({ revision: at(9), entries: some(3) }, call());
    await watching;
    await dispose();
  });

  it("leaves an empty store behind when a small restore fails", async () => {
    const { storage, dispose } = await openTemporary();
    const failing = { revision: at(9), entries: some(3, 2) };
    await assert.rejects(storage.restoreSnapshot(failing, call()), /the backup ends here/);
    assert.equal(storage.health(), undefined);
    await storage.restoreSnapshot({ revision: at(9), entries: some(3) }, call());
    assert.equal(await storage.count(key(""), call()), 3);
    await dispose();
  });

  it("makes a store unusable after an interrupted restore, also when it is reopened", async () => {
    const { directory, storage, dispose } = await openTemporary();
    const failing = { revision: at(100_000), entries: some(5000, 4000) };
    await assert.rejects(storage.restoreSnapshot(failing, call()), /the backup ends here/);
    assert.match(storage.health()?.message ?? "", /was interrupted/);
    await assert.rejects(storage.commit(put("/a", "v", "absent"), call()), { code: "unavailable" });
    await storage.close();
    await assert.rejects(EmbeddedStorage.open({ directory, clock: systemClock }), {
      code: "corrupt",
      message: /restore into it was interrupted/,
    });
    await dispose();
  });

  it("rejects entries out of order or with revisions beyond the snapshot's", async () => {
    const { storage, dispose } = await openTemporary();
    const entry = (name: string, modifiedAt: number): Entry => ({
      key: key(name),
      value: new Uint8Array(1),
      createdAt: at(1),
      modifiedAt: at(modifiedAt),
    });
    for (const wrong of [[entry("/b", 1), entry("/a", 2)], [entry("/a", 10)], [entry("/a", 0)]]) {
      const snapshot = { revision: at(9), entries: each(wrong) };
      await assert.rejects(storage.restoreSnapshot(snapshot, call()), /the snapshot/);
    }
    await dispose();
  });
});

function at(revision: number): Revision {
  return revision as Revision;
}

async function* each(entries: readonly Entry[]): AsyncGenerator<Entry> {
  yield* entries;
}

/** Entries of 1 KB; fails after `failAfter` of them. */
async function* some(count: number, failAfter = count): AsyncGenerator<Entry> {
  for (const [i, name] of numbered("/r/", count).entries()) {
    if (i === failAfter) throw new Error("the backup ends here");
    const revision = at(i + 1);
    const value = new Uint8Array(1000).fill(i);
    yield { key: key(name), value, createdAt: revision, modifiedAt: revision };
  }
}
