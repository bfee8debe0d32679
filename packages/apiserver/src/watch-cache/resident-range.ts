/**
 * A resident range: all objects of a collection with keys between two places, held in memory and
 * kept up to date by the hub's events.
 */
import { SortedMap } from "@kcp-ts/machinery/base";
import type { Entry, Revision, StorageKey } from "../storage/index.ts";
import { EntryIndexes, type IndexLookup } from "./entry-index.ts";
import type { HubEvent } from "./hub-event.ts";

const entryOverheadBytes = 300;
/** The memory of a range without objects: any number of empty collections can be listed. */
const rangeOverheadBytes = 1500;

/** The keys behind `after`, up to and including `last`. */
export interface KeyRange {
  readonly after: string;
  readonly last: string;
}

/** The keys under a prefix, behind a key if given: no key has the character 127. */
export function rangeUnder(prefix: StorageKey, after?: StorageKey): KeyRange {
  return { after: after !== undefined && after > prefix ? after : prefix, last: `${prefix}\x7f` };
}

export function containsRange(outer: KeyRange, inner: KeyRange): boolean {
  return outer.after <= inner.after && inner.last <= outer.last;
}

export class ResidentRange implements KeyRange {
  readonly after: string;
  last: string;
  /** The time of the last use. */
  usedAt: number;
  /** The entries are the store's at this revision, and at every later one up to the hub's. */
  changedAt: Revision;
  readonly #entries = new SortedMap<Entry>();
  readonly #indexes = new EntryIndexes();
  readonly #onBytes: (change: number) => void;
  /**
   * While loading: deleted keys with their revisions, so that an older page does not restore them.
   */
  #deleted: Map<StorageKey, Revision> | undefined = new Map();
  #valueBytes = 0;

  constructor(
    { after, last }: KeyRange,
    usedAt: number,
    revision: Revision,
    onBytes: (change: number) => void,
  ) {
    this.after = after;
    this.last = last;
    this.usedAt = usedAt;
    this.changedAt = revision;
    this.#onBytes = onBytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    const { size } = this.#entries;
    const entries = this.#valueBytes + size * entryOverheadBytes;
    return rangeOverheadBytes + entries + this.#indexes.bytes(size);
  }

  /** The current entries under a prefix, up to the given number. */
  slice(prefix: StorageKey, after?: StorageKey, countMax?: number): Entry[] {
    return this.#entries.slice(prefix, after, countMax);
  }

  /** The entries that may have the given values. */
  candidates(
    prefix: StorageKey,
    after: StorageKey | undefined,
    lookups: readonly IndexLookup[],
  ): Entry[] {
    if (lookups.length === 0) return this.#entries.slice(prefix, after);
    const before = this.bytes;
    const found = this.#indexes.candidates(lookups, this.#entries) ?? this.#entries;
    this.#count(before);
    return found.slice(prefix, after);
  }

  count(prefix: StorageKey, after?: StorageKey): number {
    return this.#entries.countRange(prefix, after);
  }

  /** Adds an entry that was read, unless a newer one is known. */
  merge(entry: Entry): void {
    const known = this.#entries.get(entry.key);
    const newest = Math.max(known?.modifiedAt ?? 0, this.#deleted?.get(entry.key) ?? 0);
    if (entry.modifiedAt > newest) this.#put(entry, known);
  }

  /** Ends the load: the entries up to `last` are complete, and those behind it are dropped. */
  finishLoading(last: string, revision: Revision): void {
    this.#deleted = undefined;
    this.last = last;
    this.changedAt = revision;
    for (const entry of this.#entries.slice("", last)) this.#delete(entry);
  }

  apply({ key, revision, current }: HubEvent): void {
    const known = this.#entries.get(key);
    if (known !== undefined && known.modifiedAt >= revision) return;
    this.changedAt = revision;
    if (current !== undefined) {
      this.#put(current, known);
      return;
    }
    this.#deleted?.set(key, revision);
    if (known !== undefined) this.#delete(known);
  }

  #put(entry: Entry, known: Entry | undefined): void {
    const before = this.bytes;
    this.#entries.set(entry.key, entry);
    this.#indexes.replace(known, entry);
    this.#valueBytes += entry.value.length - (known?.value.length ?? 0);
    this.#count(before);
  }

  #delete(known: Entry): void {
    const before = this.bytes;
    this.#entries.delete(known.key);
    this.#indexes.replace(known, undefined);
    this.#valueBytes -= known.value.length;
    this.#count(before);
  }

  #count(before: number): void {
    const change = this.bytes - before;
    if (change !== 0) this.#onBytes(change);
  }
}
