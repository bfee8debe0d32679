/** A backup and a restore hold a few chunks in memory, whatever the size of the store. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { encodeBackup } from "@kcp-ts/apiserver";
import type { Entry, Revision, StorageKey } from "@kcp-ts/apiserver/storage";
import { backup, restore } from "@kcp-ts/controlplane";
import { writeBackupFile } from "@kcp-ts/controlplane/internal";
import { temporaryFolder, withoutLog } from "./test-control-planes.ts";

const entryCount = 35_000;
const valueBytes = 8 << 10;
/**
 * Half of the data: far above what the chunks and LevelDB's own buffers take, far below the whole.
 */
const grownBytesMax = (entryCount * valueBytes) / 2;

async function* manyEntries(): AsyncGenerator<Entry> {
  for (let index = 0; index < entryCount; index++) {
    const name = String(index).padStart(8, "0");
    yield {
      key: `//configmaps//root/default/${name}` as StorageKey,
      // Does not compress, so that the disk sees what memory does.
      value: pseudoRandom(index + 1),
      createdAt: (index + 1) as Revision,
      modifiedAt: (index + 1) as Revision,
    };
  }
}

function pseudoRandom(seed: number): Uint8Array {
  const words = new Uint32Array(valueBytes / 4);
  let state = seed;
  for (let at = 0; at < words.length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    words[at] = state;
  }
  return new Uint8Array(words.buffer);
}

/** Without pages of files, which LevelDB maps and the system takes back when it wants to. */
function ownMemory(): number {
  if (process.platform !== "linux") return process.memoryUsage().rss;
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return Number(kilobytes) * 1024;
}

describe("a large store", () => {
  it("is saved and restored with bounded memory", async (t) => {
    const folder = await temporaryFolder(t);
    const made = join(folder, "made");
    const start = ownMemory();
    let peak = 0;
    const watching = () => {
      peak = Math.max(peak, ownMemory() - start);
    };
    const snapshot = { revision: entryCount as Revision, entries: manyEntries() };
    await writeBackupFile(made, encodeBackup(snapshot, { createdAtMs: 0 }), watching);
    const storage = { kind: "embedded" } as const;
    const context = { ...withoutLog(), onProgress: watching };
    const target = { file: made, rootDirectory: folder, storage };
    assert.equal((await restore(target, context)).entries, entryCount);
    const again = { file: join(folder, "again"), rootDirectory: folder, storage };
    assert.equal((await backup(again, context)).entries, entryCount);
    const megabytes = (bytes: number) => Math.round(bytes / (1 << 20));
    t.diagnostic(
      `${megabytes(entryCount * valueBytes)} MiB took ${megabytes(peak)} MiB of memory at most`,
    );
    assert.ok(peak < grownBytesMax, `${peak} bytes more than before`);
  });
});
