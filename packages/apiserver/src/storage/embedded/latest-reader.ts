/**
 * Reads the newest state, and states that memory can still revert to.
 *
 * The engine may contain a batch that is not acknowledged yet, so the earlier values of keys that
 * changed after the requested revision always override the engine's. That also makes reads of the
 * recent past cheap: they revert a few changes.
 */
import { keyOfChange } from "../change-feed.ts";
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { Entry } from "../storage.ts";
import { decodeEntry } from "./entry-record.ts";
import { newestKey, newestRange, parseNewestKey } from "./layout.ts";
import type { StoreState } from "./store-state.ts";

export interface RangeOptions {
  readonly signal: AbortSignal;
  readonly continueAfter?: StorageKey | undefined;
}

/** The acknowledged state of a key, from the engine. */
export async function loadEntry(state: StoreState, key: StorageKey): Promise<Entry | undefined> {
  const load = state.cache.startLoad(key);
  let entry: Entry | undefined;
  try {
    const record = await state.batchedGets.get(newestKey(key), () => state.engine);
    if (record !== undefined) entry = decodeEntry(key, record, state.directory);
  } catch (error) {
    state.cache.finishLoad(load, undefined);
    throw error;
  }
  for (const change of state.inFlight?.changes ?? []) {
    if (change.relocation === true || keyOfChange(change) !== key) continue;
    state.cache.finishLoad(load, undefined);
    return change.previous;
  }
  state.cache.finishLoad(load, entry);
  return entry;
}

/**
 * The entry of a key at a revision, from the changes in memory: "unchanged" since then, or
 * "forgotten" when memory does not go back that far.
 */
export function entryAtFromMemory(
  state: StoreState,
  key: StorageKey,
  revision: Revision,
): { readonly entry: Entry | undefined } | "unchanged" | "forgotten" {
  const changes = state.changesAfter(revision);
  if (changes === undefined) return "forgotten";
  for (const change of changes) {
    if (change.relocation !== true && keyOfChange(change) === key)
      return { entry: change.previous };
  }
  return "unchanged";
}

/**
 * At most `entriesMax` + 1 entries with an ending of their keys: only keys are scanned, and the
 * values of the few that have the ending are read from the same state.
 */
export async function listLatestByEnding(
  state: StoreState,
  prefix: StorageKey,
  undone: ReadonlyMap<StorageKey, Entry | undefined>,
  entriesMax: number,
  { signal, continueAfter, keyEnding }: RangeOptions & { readonly keyEnding: string },
): Promise<Entry[]> {
  const view = state.engine.snapshot();
  const cursor = view.scan({ ...newestRange(prefix, continueAfter), keysOnly: true });
  const entries = restoredEntries(state, undone, continueAfter).filter(({ key }) =>
    key.endsWith(keyEnding),
  );
  try {
    for (let read = 0; read <= entriesMax; ) {
      const pairs = await cursor.next(pairsPerSlice);
      signal.throwIfAborted();
      if (pairs.length === 0) break;
      const keys = pairs
        .map(([engineKey]) => parseNewestKey(engineKey))
        .filter((key) => key.endsWith(keyEnding) && !undone.has(key) && !state.moves.isHidden(key));
      if (keys.length === 0) continue;
      const records = await view.getMany(keys.map(newestKey));
      for (const [at, key] of keys.entries())
        entries.push(decodeEntry(key, records[at] as Buffer, state.directory));
      read += keys.length;
    }
  } finally {
    await cursor.close();
    await view.close();
  }
  return entries.sort((a, b) => (a.key < b.key ? -1 : 1)).slice(0, entriesMax + 1);
}

/** At most `entriesMax` + 1 entries, so that the caller detects further ones. */
export async function listLatest(
  state: StoreState,
  prefix: StorageKey,
  undone: ReadonlyMap<StorageKey, Entry | undefined>,
  entriesMax: number,
  { signal, continueAfter }: RangeOptions,
): Promise<Entry[]> {
  const cursor = state.engine.scan(newestRange(prefix, continueAfter));
  const restored = restoredEntries(state, undone, continueAfter);
  const entries: Entry[] = [];
  let nextRestored = 0;
  try {
    while (entries.length <= entriesMax) {
      const pairs = await cursor.next(Math.min(entriesMax + 1 - entries.length, pairsPerSlice));
      signal.throwIfAborted();
      for (const [engineKey, record] of pairs) {
        const key = parseNewestKey(engineKey);
        for (let entry = restored[nextRestored]; entry !== undefined && entry.key < key; ) {
          entries.push(entry);
          entry = restored[++nextRestored];
        }
        if (!undone.has(key) && !state.moves.isHidden(key))
          entries.push(decodeEntry(key, record, state.directory));
      }
      if (pairs.length > 0) continue;
      entries.push(...restored.slice(nextRestored));
      break;
    }
  } finally {
    await cursor.close();
  }
  return entries;
}

export async function countLatest(
  state: StoreState,
  prefix: StorageKey,
  undone: ReadonlyMap<StorageKey, Entry | undefined>,
  { signal, continueAfter }: RangeOptions,
): Promise<number> {
  const cursor = state.engine.scan({ ...newestRange(prefix, continueAfter), keysOnly: true });
  let count = restoredEntries(state, undone, continueAfter).length;
  const isCounted = (key: StorageKey) => !undone.has(key) && !state.moves.isHidden(key);
  try {
    for (;;) {
      const pairs = await cursor.next(pairsPerSlice);
      signal.throwIfAborted();
      if (pairs.length === 0) return count;
      if (undone.size === 0 && !state.moves.hasHidden) count += pairs.length;
      else for (const [key] of pairs) if (isCounted(parseNewestKey(key))) count++;
    }
  } finally {
    await cursor.close();
  }
}

/** The entries before the reverted changes, in key order. */
function restoredEntries(
  state: StoreState,
  undone: ReadonlyMap<StorageKey, Entry | undefined>,
  continueAfter: StorageKey | undefined,
): Entry[] {
  const entries: Entry[] = [];
  for (const [key, entry] of undone) {
    const isBehind = continueAfter === undefined || key > continueAfter;
    if (entry !== undefined && isBehind && !state.moves.isHidden(key)) entries.push(entry);
  }
  return entries.sort((a, b) => (a.key < b.key ? -1 : 1));
}

const pairsPerSlice = 1000;
