/**
 * Indexes of entries by one value each: by the value of a label, or of a field.
 *
 *     "label app" ──► web: [a c d]   db: [b]        each in key order
 *
 * An index is built by the lists that ask for its name, a part of the range by each, and only for
 * ranges that are large enough to be worth it. It costs some fifty bytes for each entry, and a list
 * by a value costs what it returns instead of the whole range.
 */
import { SortedMap } from "@kcp-ts/machinery/base";
import { eventLoopLimits } from "../event-loop/index.ts";
import type { Entry } from "../storage/index.ts";

/** A value that every selected entry has. */
export interface IndexLookup {
  /** Lookups of the same name read the same value of an entry. */
  readonly name: string;
  readonly value: string;
  /** Undefined: the entry has no such value. */
  readonly valueIn: (entry: Entry) => string | undefined;
}

interface EntryIndex {
  readonly valueIn: IndexLookup["valueIn"];
  readonly entries: Map<string, SortedMap<Entry>>;
  /** The keys up to this one are indexed; undefined: all are. */
  indexedTo: string | undefined;
}

/** Smaller ranges are searched in less time than a request takes. */
export const indexedEntriesMin = 256;
/** Further names are searched for: clients choose them. */
export const indexesMax = 4;
/** The place of an entry in an index, and the entries of one value. */
const indexEntryBytes = 50;
const indexValueBytes = 300;
/** What one list adds to an index: as much as is matched in a turn of the event loop. */
const { objectsPerTurn: entriesPerAsk, bytesPerTurn: bytesPerAsk } = eventLoopLimits.matched;

const none: SortedMap<Entry> = new SortedMap();

export class EntryIndexes {
  readonly #indexes = new Map<string, EntryIndex>();

  /** The memory of the indexes over a number of entries. */
  bytes(entries: number): number {
    let bytes = 0;
    for (const index of this.#indexes.values())
      bytes += entries * indexEntryBytes + index.entries.size * indexValueBytes;
    return bytes;
  }

  /**
   * The fewest entries that contain all entries with the given values, or undefined without a
   * complete index for any of them.
   */
  candidates(lookups: readonly IndexLookup[], all: SortedMap<Entry>): SortedMap<Entry> | undefined {
    let best: SortedMap<Entry> | undefined;
    for (const lookup of lookups) {
      const index = this.#indexes.get(lookup.name) ?? this.#begin(lookup, all);
      if (index === undefined || !isComplete(index, all)) continue;
      const found = index.entries.get(lookup.value) ?? none;
      if (best === undefined || found.size < best.size) best = found;
    }
    return best;
  }

  replace(known: Entry | undefined, entry: Entry | undefined): void {
    const { key } = (entry ?? known) as Entry;
    for (const index of this.#indexes.values()) {
      if (index.indexedTo !== undefined && key > index.indexedTo) continue;
      if (known !== undefined) remove(index, known);
      if (entry !== undefined) add(index, entry);
    }
  }

  #begin({ name, valueIn }: IndexLookup, all: SortedMap<Entry>): EntryIndex | undefined {
    if (all.size < indexedEntriesMin || this.#indexes.size >= indexesMax) return undefined;
    const index: EntryIndex = { valueIn, entries: new Map(), indexedTo: "" };
    this.#indexes.set(name, index);
    return index;
  }
}

/** Adds the next entries to an index that is being built. */
function isComplete(index: EntryIndex, all: SortedMap<Entry>): boolean {
  if (index.indexedTo === undefined) return true;
  const next = all.slice("", index.indexedTo, entriesPerAsk);
  let bytes = 0;
  for (const entry of next) {
    if (bytes > bytesPerAsk) return false;
    add(index, entry);
    index.indexedTo = entry.key;
    bytes += entry.value.length;
  }
  if (next.length < entriesPerAsk) index.indexedTo = undefined;
  return index.indexedTo === undefined;
}

function add({ valueIn, entries }: EntryIndex, entry: Entry): void {
  const value = valueIn(entry);
  if (value === undefined) return;
  let same = entries.get(value);
  if (same === undefined) {
    same = new SortedMap();
    entries.set(value, same);
  }
  same.set(entry.key, entry);
}

function remove({ valueIn, entries }: EntryIndex, entry: Entry): void {
  const value = valueIn(entry);
  if (value === undefined) return;
  const same = entries.get(value);
  same?.delete(entry.key);
  if (same?.size === 0) entries.delete(value);
}
