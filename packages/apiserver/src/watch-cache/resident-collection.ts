/**
 * The part of one collection that is in memory: ranges of keys, disjoint, in key order, with holes
 * between them. A range has all objects with keys between two places, kept up to date by the hub's
 * events.
 */
import { SortedMap } from "@kcp-ts/machinery/base";
import type { Entry, Revision, StorageKey } from "../storage/index.ts";
import { EntryIndexes, type IndexLookup } from "./entry-index.ts";
import type { HubEvent } from "./hub-event.ts";
import type { HubListener } from "./watch-hub.ts";

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

/** Called when a range has grown or shrunk. */
type OnBytes = (range: ResidentRange, change: number) => void;

export class ResidentRange implements KeyRange {
  readonly after: string;
  last: string;
  /** The time of the last use. */
  usedAt: number;
  /** The entries are the store's at this revision, and at every later one up to the hub's. */
  changedAt: Revision;
  readonly #entries = new SortedMap<Entry>();
  /** Made by the first list by a value. */
  #indexes: EntryIndexes | undefined;
  readonly #onBytes: OnBytes;
  /**
   * While loading: deleted keys with their revisions, so that an older page does not restore them.
   */
  #deleted: Map<StorageKey, Revision> | undefined = new Map();
  #valueBytes = 0;

  constructor({ after, last }: KeyRange, usedAt: number, revision: Revision, onBytes: OnBytes) {
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
    return rangeOverheadBytes + entries + (this.#indexes?.bytes(size) ?? 0);
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
    this.#indexes ??= new EntryIndexes();
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
    this.#indexes?.replace(known, entry);
    this.#valueBytes += entry.value.length - (known?.value.length ?? 0);
    this.#count(before);
  }

  #delete(known: Entry): void {
    const before = this.bytes;
    this.#entries.delete(known.key);
    this.#indexes?.replace(known, undefined);
    this.#valueBytes -= known.value.length;
    this.#count(before);
  }

  #count(before: number): void {
    const change = this.bytes - before;
    if (change !== 0) this.#onBytes(this, change);
  }
}

/** A part of a key range that is not in memory. */
export interface Hole extends KeyRange {
  readonly resident: undefined;
}

export interface ResidentPart extends KeyRange {
  readonly resident: ResidentRange;
}

export interface Loading extends KeyRange {
  readonly range: ResidentRange;
  /** The number of entries that are read, from the first one on. */
  readonly wanted: number;
  /** Resolves when the range is resident, or did not fit. */
  readonly done: Promise<void>;
}

export class ResidentCollection implements HubListener {
  readonly onLost: () => void;
  readonly loading = new Set<Loading>();
  /** Events were missed: what is being loaded cannot be used. */
  isLost = false;
  stop: () => void = () => {};
  #ranges: ResidentRange[] = [];

  constructor(onLost: (collection: ResidentCollection) => void) {
    this.onLost = () => onLost(this);
  }

  get ranges(): readonly ResidentRange[] {
    return this.#ranges;
  }

  get isUnused(): boolean {
    return this.#ranges.length === 0 && this.loading.size === 0;
  }

  /** The memory of an entry, on average; undefined while none is known. */
  get entryBytes(): number | undefined {
    let bytes = 0;
    let size = 0;
    for (const range of this.#ranges) {
      bytes += range.bytes;
      size += range.size;
    }
    return size === 0 ? undefined : bytes / size;
  }

  /** The resident ranges and the holes of a key range, in order. */
  *partsOf({ after, last }: KeyRange): Generator<ResidentPart | Hole> {
    let reached = after;
    for (let at = this.#firstEnding("behind", after); reached < last; at++) {
      const next = this.#ranges[at];
      if (next === undefined || next.after >= last) {
        yield { after: reached, last, resident: undefined };
        return;
      }
      if (next.after > reached) yield { after: reached, last: next.after, resident: undefined };
      yield { after: next.after, last: next.last, resident: next };
      reached = next.last;
    }
  }

  /** The first hole of a key range before the given number of entries; undefined without one. */
  firstHole(range: KeyRange, prefix: StorageKey, wanted: number): Hole | undefined {
    let left = wanted;
    for (const part of this.partsOf(range)) {
      if (left <= 0) return undefined;
      if (part.resident === undefined) return part;
      left -= part.resident.count(prefix, range.after as StorageKey);
    }
    return undefined;
  }

  /** The load in flight that has what another one would have. */
  loadingOf(range: KeyRange, wanted: number): Loading | undefined {
    for (const loading of this.loading) {
      if (!containsRange(loading, range)) continue;
      const isPrefix = loading.after === range.after && loading.wanted >= wanted;
      if (isPrefix || loading.wanted === Number.POSITIVE_INFINITY) return loading;
    }
    return undefined;
  }

  /**
   * Adds a loaded range, in place of those it overlaps; false when a resident range has all of it.
   */
  add(range: ResidentRange, drop: (overlapped: ResidentRange) => void): boolean {
    const overlapped = [...this.partsOf(range)].flatMap(({ resident }) => resident ?? []);
    if (overlapped.some((other) => containsRange(other, range))) return false;
    for (const other of overlapped) drop(other);
    this.#ranges.splice(this.#firstEnding("behind", range.after), 0, range);
    return true;
  }

  remove(range: ResidentRange): void {
    const at = this.#ranges.indexOf(range);
    if (at >= 0) this.#ranges.splice(at, 1);
  }

  /** The number of objects under a prefix as far as they were read; undefined when none were. */
  knownCount(prefix: StorageKey): number | undefined {
    let count: number | undefined;
    for (const range of [...this.#ranges, ...[...this.loading].map((loading) => loading.range)]) {
      const isOver = range.after < `${prefix}\x7f` && range.last > prefix;
      if (isOver) count = (count ?? 0) + range.count(prefix);
    }
    return count;
  }

  onEvent(event: HubEvent): void {
    const range = this.#ranges[this.#firstEnding("from", event.key)];
    if (range !== undefined && range.after < event.key) range.apply(event);
    for (const loading of this.loading) {
      const isIn = loading.after < event.key && event.key <= loading.last;
      if (isIn && loading.range !== range) loading.range.apply(event);
    }
  }

  /** The index of the first range that ends at the key or behind it. */
  #firstEnding(where: "from" | "behind", key: string): number {
    let low = 0;
    let high = this.#ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const { last } = this.#ranges[middle] as ResidentRange;
      if (last < key || (last === key && where === "behind")) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
