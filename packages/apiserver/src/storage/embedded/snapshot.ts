/** Backup and restore for the embedded store. */
import { assert } from "@kcp-ts/machinery/base";
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import { revisionZero } from "../revision.ts";
import type { OpenSnapshot, Snapshot } from "../snapshot.ts";
import type { Entry } from "../storage.ts";
import type { CommitQueue } from "./commit-queue.ts";
import { corruptError } from "./corrupt-error.ts";
import type { EngineOperation, EngineSnapshot } from "./engine.ts";
import { decodeEntry, encodeEntry } from "./entry-record.ts";
import { isLayoutKey, metaKey, newestKey, newestRange, parseNewestKey } from "./layout.ts";
import { decodeMeta } from "./meta.ts";
import type { StoreState } from "./store-state.ts";

/**
 * The revision is the engine's own at that moment: a batch in flight is included completely or not
 * at all.
 */
export async function openSnapshot(state: StoreState, signal: AbortSignal): Promise<OpenSnapshot> {
  const view = state.engine.snapshot();
  try {
    const record = await view.get(metaKey);
    if (record === undefined) throw corruptError(state.directory, "the counters are missing");
    const { revision } = decodeMeta(record, state.directory);
    return { revision, entries: allEntries(state, view, signal), close: () => view.close() };
  } catch (error) {
    await view.close();
    throw state.storageError(error);
  }
}

async function* allEntries(
  state: StoreState,
  view: EngineSnapshot,
  signal: AbortSignal,
): AsyncGenerator<Entry> {
  try {
    const cursor = view.scan(newestRange("" as StorageKey, undefined));
    try {
      for (;;) {
        signal.throwIfAborted();
        const pairs = await cursor.next(1000);
        if (pairs.length === 0) return;
        for (const [engineKey, record] of pairs) {
          const key = parseNewestKey(engineKey);
          if (!state.moves.isHidden(key)) yield decodeEntry(key, record, state.directory);
        }
      }
    } finally {
      await cursor.close();
    }
  } catch (error) {
    throw state.storageError(error);
  }
}

export async function restoreSnapshot(
  state: StoreState,
  queue: CommitQueue,
  snapshot: Snapshot,
  signal: AbortSignal,
): Promise<void> {
  if (state.meta.revision !== revisionZero || state.restoring || !queue.isIdle()) {
    const current = state.meta.revision;
    throw new StorageError("conflict", `the store in ${state.directory} is not empty`, { current });
  }
  state.restoring = true;
  try {
    await fill(queue, snapshot, signal);
  } finally {
    // With a part of the snapshot on disk the store stays unusable, also when it is reopened.
    state.restoring = state.meta.state === "restoring";
    state.clearCaches();
  }
  // Watches of the empty store have missed all entries.
  const oldest = snapshot.revision;
  state.feed.close(new StorageError("compacted", "the store was restored", { oldest }));
}

async function fill(
  queue: CommitQueue,
  { revision, entries }: Snapshot,
  signal: AbortSignal,
): Promise<void> {
  let operations: EngineOperation[] = [];
  let bytes = 0;
  let lastKey: StorageKey | undefined;
  for await (const entry of entries) {
    signal.throwIfAborted();
    checkEntry(entry, lastKey, revision);
    lastKey = entry.key;
    const { key, value, createdAt, modifiedAt } = entry;
    const { record } = encodeEntry(key, value, createdAt, modifiedAt);
    operations.push({ type: "put", key: newestKey(key), value: record });
    bytes += record.length;
    if (bytes < sliceBytes) continue;
    await queue.maintenance({
      operations,
      changeMeta: (meta) => ({ ...meta, state: "restoring" }),
    });
    operations = [];
    bytes = 0;
  }
  await queue.maintenance({
    operations,
    changeMeta: (meta) => ({
      ...meta,
      state: "ready",
      revision,
      compacted: revision,
      swept: revision,
    }),
  });
}

function checkEntry(entry: Entry, lastKey: StorageKey | undefined, revision: number): void {
  const { key, createdAt, modifiedAt } = entry;
  assert(isLayoutKey(key), `the snapshot has a key that cannot be stored: ${key}`);
  assert(lastKey === undefined || key > lastKey, `the snapshot is not in key order at ${key}`);
  assert(
    createdAt > 0 && createdAt <= modifiedAt && modifiedAt <= revision,
    `the snapshot has impossible revisions at ${key}`,
  );
}

const sliceBytes = 1 << 20;
