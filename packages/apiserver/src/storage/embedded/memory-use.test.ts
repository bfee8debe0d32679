/**
 * An idle logical cluster costs no memory: opening a store with many entries takes no more than
 * opening an empty one.
 */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { systemClock } from "@kcp-ts/machinery/base";
import { call, key } from "../contract/storage-contract.ts";
import type { Revision } from "../revision.ts";
import type { Entry } from "../storage.ts";
import { EmbeddedStorage } from "./embedded-storage.ts";
import { LevelDbLocation } from "./level-engine.ts";
import { temporaryDirectory } from "./temporary-store.ts";

const clusters = 10_000;
const entriesPerCluster = 10;

describe("the embedded store's memory", () => {
  it("does not grow with the number of entries on disk", async () => {
    const empty = await temporaryDirectory();
    const full = await temporaryDirectory();
    await (await EmbeddedStorage.open({ directory: empty, clock: systemClock })).close();
    const filled = await EmbeddedStorage.open({ directory: full, clock: systemClock });
    const revision = (clusters * entriesPerCluster) as Revision;
    await filled.restoreSnapshot({ revision, entries: manyEntries() }, call());
    await filled.close();

    await heapOf(empty);
    const emptyBytes = await heapOf(empty);
    const fullBytes = await heapOf(full);
    const grown = fullBytes - emptyBytes;
    assert.ok(grown < 1 << 20, `${grown} bytes more for ${revision} entries`);
    await rm(empty, { recursive: true });
    await rm(full, { recursive: true });
  });
});

describe("closed cursors", () => {
  it("hold nothing of the pairs that they have read, before they are garbage-collected", async () => {
    const directory = await temporaryDirectory();
    const engine = await new LevelDbLocation(directory).open();
    const value = Buffer.alloc(1024, 65);
    const names = Array.from(
      { length: pairsPerCursor },
      (_, i) => `k${String(i).padStart(6, "0")}`,
    );
    await engine.write(names.map((name) => ({ type: "put", key: name, value })));
    const read = async () => {
      const cursor = engine.scan({ from: "k", to: "l" });
      let pairs = 0;
      for (let some = await cursor.next(1000); some.length > 0; some = await cursor.next(1000))
        pairs += some.length;
      await cursor.close();
      assert.equal(pairs, pairsPerCursor);
      return cursor;
    };
    for (let i = 0; i < 20; i++) await read();
    const before = await residentBytes();
    // Kept alive, like garbage before its collection.
    const closed = [];
    for (let i = 0; i < cursors; i++) closed.push(await read());
    const grown = (await residentBytes()) - before;
    const readBytes = cursors * pairsPerCursor * value.length;
    assert.ok(grown < readBytes / 4, `${grown} bytes more after reading ${readBytes}`);
    assert.equal(closed.length, cursors);
    await engine.close();
    await rm(directory, { recursive: true });
  });
});

const cursors = 600;
const pairsPerCursor = 300;

async function residentBytes(): Promise<number> {
  await heapBytes();
  return process.memoryUsage.rss();
}

/** The heap usage of an open store. */
async function heapOf(directory: string): Promise<number> {
  const before = await heapBytes();
  const storage = await EmbeddedStorage.open({ directory, clock: systemClock });
  await storage.get(key("/none"), call());
  const bytes = (await heapBytes()) - before;
  await storage.close();
  return bytes;
}

/** Buffers are released in a turn after the garbage collection. */
async function heapBytes(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    collectGarbage();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

async function* manyEntries(): AsyncGenerator<Entry> {
  let revision = 0;
  for (let cluster = 0; cluster < clusters; cluster++) {
    const name = `/core/configmaps//c${String(cluster).padStart(6, "0")}/default/`;
    for (let i = 0; i < entriesPerCluster; i++) {
      const at = ++revision as Revision;
      const value = new Uint8Array(100).fill(revision);
      yield { key: key(`${name}${i}`), value, createdAt: at, modifiedAt: at };
    }
  }
}
