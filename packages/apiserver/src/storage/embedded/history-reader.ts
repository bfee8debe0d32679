/**
 * Reads the past from disk: revisions that memory no longer has and compaction has not removed.
 *
 * Every read uses one engine snapshot, so neither writes nor compaction change the past during it.
 * Revisions decide visibility: a batch in flight is after every revision that can be requested.
 */
import type { DataChange } from "../change-feed.ts";
import type { StorageKey } from "../key.ts";
import { clusterUnder } from "../moves/move-table.ts";
import type { Revision } from "../revision.ts";
import type { Entry } from "../storage.ts";
import { corruptError } from "./corrupt-error.ts";
import type { EngineCursor, EngineView } from "./engine.ts";
import { decodeEntry } from "./entry-record.ts";
import { decodeHistoryGroup, type KeyChange } from "./history-group.ts";
import {
  historyRange,
  newestKey,
  oldKey,
  oldVersionsRange,
  parseHistoryKey,
  parseOldKey,
} from "./layout.ts";
import type { StoreState } from "./store-state.ts";

/** The entry of a key at a revision within history. */
export async function entryAt(
  state: StoreState,
  key: StorageKey,
  revision: Revision,
): Promise<Entry | undefined> {
  const view = state.engine.snapshot();
  try {
    const newest = await view.get(newestKey(key));
    if (newest !== undefined) {
      const entry = decodeEntry(key, newest, state.directory);
      if (state.moves.versionOf(entry) <= revision) return entry;
    }
    const cursor = view.scan({ ...oldVersionsRange(key, revision), keysOnly: true });
    try {
      const [last] = await cursor.next(1);
      if (last === undefined) return undefined;
      const version = parseOldKey(last[0]);
      if (version.isDeletion) return undefined;
      return await oldEntry(state, view, key, version.revision);
    } finally {
      await cursor.close();
    }
  } finally {
    await view.close();
  }
}

export interface HistorySlice {
  readonly changes: readonly DataChange[];
  /** All changes up to this revision were examined. */
  readonly upTo: Revision;
}

/**
 * The next acknowledged changes under a prefix, a bounded number of them: a reader that stops
 * between slices holds nothing. `after` must be before the newest revision.
 */
export async function changesAfter(
  state: StoreState,
  prefix: StorageKey,
  after: Revision,
): Promise<HistorySlice> {
  state.checkRevision(after);
  const newest = state.meta.revision;
  const view = state.engine.snapshot();
  try {
    const cursor = view.scan(historyRange(after, newest));
    const slice = await keyChangesAfter(state, cursor, prefix, after);
    if (slice.upTo === after) throw gap(state, after);
    return { changes: await withValues(state, view, slice.found), upTo: slice.upTo };
  } finally {
    await view.close();
  }
}

async function keyChangesAfter(
  state: StoreState,
  cursor: EngineCursor,
  prefix: StorageKey,
  after: Revision,
): Promise<{ found: KeyChange[]; upTo: Revision }> {
  const found: KeyChange[] = [];
  let upTo = after;
  try {
    while (found.length < sliceChangesMax && upTo - after < sliceLookedMax) {
      const groups = await cursor.next(sliceChangesMax);
      if (groups.length === 0) break;
      for (const [engineKey, record] of groups) {
        for (const change of decodeHistoryGroup(record, state.directory).changes) {
          if (change.revision <= upTo) continue;
          if (change.revision !== upTo + 1) throw gap(state, upTo);
          if (found.length === sliceChangesMax) return { found, upTo };
          upTo = change.revision;
          const isWanted = change.relocation !== true || clusterUnder(prefix) === undefined;
          if (isWanted && change.key.startsWith(prefix)) found.push(change);
        }
        const { first, last } = parseHistoryKey(engineKey);
        if (last <= upTo) continue;
        if (first > upTo + 1) throw gap(state, upTo);
        upTo = last;
      }
    }
  } finally {
    await cursor.close();
  }
  return { found, upTo };
}

/** Adds the values of changes, which are in the key's newest entry or its old ones, by revision. */
async function withValues(
  state: StoreState,
  view: EngineView,
  changes: readonly KeyChange[],
): Promise<DataChange[]> {
  const keys = new Set<string>();
  for (const { kind, key, revision, previousAt, arrivedAt } of changes) {
    if (kind === "put") keys.add(newestKey(key)).add(oldKey(key, arrivedAt ?? revision));
    if (previousAt !== undefined) keys.add(oldKey(key, previousAt));
  }
  const wanted = [...keys];
  const records = new Map<string, Buffer | undefined>();
  for (const [at, record] of (await view.getMany(wanted)).entries())
    records.set(wanted[at] as string, record);

  const entryOf = (key: StorageKey, modifiedAt: Revision): Entry => {
    const newest = records.get(newestKey(key));
    const entry = newest === undefined ? undefined : decodeEntry(key, newest, state.directory);
    if (entry !== undefined && state.moves.versionOf(entry) === modifiedAt) return entry;
    return decodeOld(state, key, modifiedAt, records.get(oldKey(key, modifiedAt)));
  };
  return changes.map(({ kind, key, revision, previousAt, arrivedAt, relocation }) => {
    const previous = previousAt === undefined ? undefined : entryOf(key, previousAt);
    const common = { revision, ...(relocation && { relocation }) };
    if (kind === "put")
      return { kind, entry: entryOf(key, arrivedAt ?? revision), previous, ...common };
    if (previous === undefined)
      throw corruptError(state.directory, `nothing was deleted at ${revision}`);
    return { kind, previous, ...common };
  });
}

export async function oldEntry(
  state: StoreState,
  view: EngineView,
  key: StorageKey,
  modifiedAt: Revision,
): Promise<Entry> {
  return decodeOld(state, key, modifiedAt, await view.get(oldKey(key, modifiedAt)));
}

function decodeOld(
  state: StoreState,
  key: StorageKey,
  modifiedAt: Revision,
  record: Buffer | undefined,
): Entry {
  const entry = record === undefined ? undefined : decodeEntry(key, record, state.directory);
  // An entry that arrived with its cluster has a later version here than its modification.
  if (entry === undefined || entry.modifiedAt > modifiedAt)
    throw corruptError(state.directory, `the entry ${key} of revision ${modifiedAt} is missing`);
  return entry;
}

function gap(state: StoreState, after: Revision): Error {
  return corruptError(state.directory, `the history after revision ${after} is missing`);
}

/** The changes per slice, with their values in memory. */
const sliceChangesMax = 64;
/** The changes that are examined before yielding to the event loop. */
const sliceLookedMax = 4096;
