import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "@kcp-ts/machinery/base";
import {
  call,
  collect,
  fill,
  key,
  numbered,
  put,
  remove,
  text,
} from "../contract/storage-contract.ts";
import { type Revision, revisionZero } from "../revision.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import { FaultyEngineLocation } from "./faulty-engine-location.ts";
import { metaKey } from "./layout.ts";
import { LevelDbLocation } from "./level-engine.ts";
import { openTemporary, temporaryDirectory } from "./temporary-store.ts";

describe("the embedded store after a restart", () => {
  it("has its state, its revisions and its history", async () => {
    const { directory, storage, dispose } = await openTemporary();
    const first = await storage.commit(put("/a", "1", "absent"), call());
    const second = await storage.commit(put("/a", "2", first), call());
    await fill(storage, numbered("/p/", 20));
    const gone = await storage.commit(remove("/a", second), call());
    const before = await collect(storage, "", revisionZero, 23);
    await storage.close();

    const again = await EmbeddedStorage.open({ directory, clock: systemClock });
    assert.equal(await again.currentRevision(call()), gone);
    assert.equal(await again.get(key("/a"), call()), undefined);
    const old = await again.get(key("/a"), { ...call(), atRevision: second });
    assert.deepEqual([text(old), old?.createdAt, old?.modifiedAt], ["2", first, second]);
    assert.equal(await again.count(key("/p/"), call()), 20);
    assert.equal(await again.count(key("/"), { ...call(), atRevision: second }), 1);
    assert.deepEqual(await collect(again, "", revisionZero, 23), before);
    assert.equal(again.historyChanges, 23);
    const next = await again.commit(put("/a", "3", "absent"), call());
    assert.equal(next, gone + 1);
    await again.close();
    await dispose();
  });

  it("resumes a watch from any revision, through the disk into live changes", async () => {
    const { directory, storage, dispose } = await openTemporary();
    await fill(storage, numbered("/p/", 300));
    await storage.close();
    const again = await EmbeddedStorage.open({ directory, clock: systemClock, tailChangesMax: 5 });
    for (const after of [0, 1, 150, 299, 300]) {
      const collecting = collect(again, "/p/", after as Revision, 310 - after);
      if (after === 0) await fill(again, numbered("/p/live-", 10));
      const revisions = (await collecting).map((change) => change.revision as number);
      assert.deepEqual(
        revisions,
        Array.from({ length: 310 - after }, (_, i) => after + 1 + i),
      );
    }
    await again.close();
    await dispose();
  });

  it("keeps its compacted revision, and the size of its history", async () => {
    const { directory, storage, dispose } = await openTemporary();
    const names = numbered("/p/", 50);
    await fill(storage, names);
    for (const name of names) {
      const entry = await storage.get(key(name), call());
      await storage.commit(put(name, "again", entry?.modifiedAt as Revision), call());
    }
    const full = storage.historyBytes;
    await storage.compact(75 as Revision, call());
    const { historyBytes, historyChanges } = storage;
    assert.equal(historyChanges, 25);
    assert.ok(historyBytes > 0 && historyBytes < full / 2, `${historyBytes} of ${full}`);
    await storage.close();

    const again = await EmbeddedStorage.open({ directory, clock: systemClock });
    assert.deepEqual([again.historyBytes, again.historyChanges], [historyBytes, historyChanges]);
    await assert.rejects(collect(again, "", 74 as Revision, 1), { code: "compacted" });
    assert.equal((await collect(again, "", 75 as Revision, 25)).length, 25);
    await again.compact(100 as Revision, call());
    assert.deepEqual([again.historyBytes, again.historyChanges], [0, 0]);
    assert.equal(await again.count(key("/p/"), call()), 50);
    await again.close();
    const third = await EmbeddedStorage.open({ directory, clock: systemClock });
    assert.equal(await third.currentRevision(call()), 100);
    await third.close();
    await dispose();
  });

  it("sweeps the records of an interrupted compaction", async () => {
    const directory = await temporaryDirectory();
    const engineLocation = new FaultyEngineLocation(directory);
    const { storage, dispose } = await openTemporary({ directory, engineLocation });
    await fill(storage, numbered("/p/", 3000));
    const controller = new AbortController();
    engineLocation.afterWrite = async () => controller.abort(new Error("enough"));
    await assert.rejects(storage.compact(3000 as Revision, controller), /enough/);
    assert.ok(storage.historyBytes > 0);
    await assert.rejects(storage.get(key("/a"), { ...call(), atRevision: 2999 as Revision }), {
      code: "compacted",
    });
    await storage.close();
    const again = await EmbeddedStorage.open({ directory, clock: systemClock });
    await again.compact(3000 as Revision, call());
    assert.equal(again.historyBytes, 0);
    await again.close();
    await dispose();
  });

  it("has nothing left on disk when everything was deleted and compacted", async () => {
    const { directory, storage, dispose } = await openTemporary();
    for (const name of numbered("/p/", 20)) {
      const first = await storage.commit(put(name, "1", "absent"), call());
      const second = await storage.commit(put(name, "2", first), call());
      await storage.commit(remove(name, second), call());
    }
    await storage.compact(60 as Revision, call());
    await storage.close();
    const engine = await new LevelDbLocation(directory).open();
    const cursor = engine.scan({ from: "", to: "\x7f", keysOnly: true });
    assert.deepEqual(
      (await cursor.next(1000)).map(([name]) => name),
      [metaKey],
    );
    await cursor.close();
    await engine.close();
    await dispose();
  });

  it("cannot be opened twice, and the error names the directory", async () => {
    const { directory, dispose } = await openTemporary();
    await assert.rejects(EmbeddedStorage.open({ directory, clock: systemClock }), {
      code: "unavailable",
      message: new RegExp(`${directory} is in use by another process`),
    });
    await dispose();
  });
});
