/**
 * Reads of an arrived cluster as of a revision before its arrival: its state at the arrival, with
 * the imported changes after that revision undone.
 */
import { type DataChange, keyOfChange } from "../change-feed.ts";
import type { StorageKey } from "../key.ts";
import type { Entry } from "../storage.ts";

/** The entries before the given changes, which are in order, by key. */
export type Undone = ReadonlyMap<StorageKey, Entry | undefined>;

export async function undo(
  changes: AsyncIterable<DataChange> | Iterable<DataChange>,
  prefix: StorageKey,
): Promise<Undone> {
  const undone = new Map<StorageKey, Entry | undefined>();
  for await (const change of changes) {
    const key = keyOfChange(change);
    if (key.startsWith(prefix) && !undone.has(key)) undone.set(key, change.previous);
  }
  return undone;
}

/** The entries of a page, and whether others follow; `arrived` has the pages at the arrival. */
export async function listUndone(
  undone: Undone,
  continueAfter: StorageKey | undefined,
  entriesMax: number,
  arrived: (
    after: StorageKey | undefined,
  ) => Promise<{ readonly entries: readonly Entry[]; readonly more: boolean }>,
): Promise<{ readonly entries: readonly Entry[]; readonly more: boolean }> {
  const restored = [...undone.values()]
    .filter((entry) => entry !== undefined)
    .filter(({ key }) => continueAfter === undefined || key > continueAfter)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const entries: Entry[] = [];
  let after = continueAfter;
  for (let more = true; more && entries.length <= entriesMax; ) {
    const page = await arrived(after);
    after = page.entries.at(-1)?.key ?? after;
    more = page.more;
    for (const entry of page.entries) {
      takeBefore(entry.key);
      if (!undone.has(entry.key)) entries.push(entry);
    }
    if (!more) takeBefore(undefined);
  }
  return { entries: entries.slice(0, entriesMax), more: entries.length > entriesMax };

  function takeBefore(key: StorageKey | undefined): void {
    for (let first = restored[0]; first !== undefined; first = restored[0]) {
      if (key !== undefined && first.key > key) return;
      entries.push(first);
      restored.shift();
    }
  }
}
