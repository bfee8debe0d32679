/**
 * Caches key ranges of collections in use: the objects of one resource in one logical cluster that
 * clients list, or the part of them that they list.
 *
 *     /g/r//cluster/   [ namespace a ][ … ][ page of b ]········[ namespace d ]····
 *                        resident            resident     hole    resident
 *
 * A range is loaded by the first list that needs it, updated by the hub, and evicted when it was
 * not used for a while or the budget is needed for others, least recently used first; so an idle
 * tenant costs nothing, and one namespace of a large collection costs what it has. Loading reads
 * each page at its own revision and lets the hub's events, which carry revisions, correct the
 * objects that changed meanwhile.
 */
import { type Clock, neverAborted, yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { Entry, Page, Revision, Storage, StorageKey } from "../storage/index.ts";
import type { IndexLookup } from "./entry-index.ts";
import { isContinuous } from "./is-continuous.ts";
import { KeyCounts } from "./key-counts.ts";
import {
  type KeyRange,
  type Loading,
  ResidentCollection,
  ResidentRange,
  rangeUnder,
} from "./resident-collection.ts";
import type { WatchHub } from "./watch-hub.ts";

export interface CollectionCacheOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
  /** The limit of value bytes in all ranges together. */
  readonly bytesMax: number;
  readonly idleMs?: number;
}

/** The entries of a list. */
export interface CachedQuery {
  /** All objects of the resource in the logical cluster. */
  readonly collection: StorageKey;
  /** The listed part of them. */
  readonly prefix: StorageKey;
  readonly after?: StorageKey | undefined;
  /** The number of entries that are needed, from the first one on; undefined: all. */
  readonly countMax?: number | undefined;
  /** The state at this revision; undefined: the hub's. */
  readonly atRevision?: Revision | undefined;
  /** The list needs only entries with these values. */
  readonly lookups?: readonly IndexLookup[] | undefined;
}

interface Refusal {
  /** The time of the next attempt. */
  readonly until: number;
  /** The number of objects that were read. */
  readonly count: number;
}

const pageEntries = 250;
/** A page with fewer entries is loaded with those after it: a range has a cost of its own. */
const loadedEntriesMin = 32;
const idleDefaultMs = 120_000;
/** The assumed memory of an object of a collection without resident ranges. */
const assumedEntryBytes = 1024;
/** The holes that are filled for one page. */
const holesMax = 8;

export class CollectionCache {
  readonly counts: KeyCounts;
  readonly #options: CollectionCacheOptions;
  readonly #collections = new Map<StorageKey, ResidentCollection>();
  /** In order of last use, oldest first. */
  readonly #ranges = new Set<ResidentRange>();
  readonly #collectionOf = new WeakMap<ResidentRange, ResidentCollection>();
  /** Prefixes that did not fit. */
  readonly #tooLarge = new Map<StorageKey, Refusal>();
  /** Prefixes whose first page did not fit. */
  readonly #pageTooLarge = new Map<StorageKey, Refusal>();
  #bytes = 0;
  #loadQueue: Promise<void> = Promise.resolve();

  constructor(options: CollectionCacheOptions) {
    this.#options = options;
    this.counts = new KeyCounts(options);
  }

  /**
   * The current entries of a list, or those that it selects from; undefined when they are not in
   * memory, or not in the state of the revision.
   */
  find(query: CachedQuery): Entry[] | undefined {
    const { prefix, after, countMax, atRevision, lookups } = query;
    const collection = this.#collections.get(query.collection);
    if (collection === undefined) return undefined;
    const found: Entry[][] = [];
    const used: ResidentRange[] = [];
    let wanted = countMax ?? Number.POSITIVE_INFINITY;
    for (const { resident } of collection.partsOf(rangeUnder(prefix, after))) {
      if (resident === undefined) return undefined;
      if (atRevision !== undefined && resident.changedAt > atRevision) return undefined;
      const entries =
        lookups === undefined
          ? resident.slice(prefix, after, wanted)
          : resident.candidates(prefix, after, lookups);
      found.push(entries);
      used.push(resident);
      wanted -= entries.length;
      if (wanted <= 0) break;
    }
    for (const range of used) this.#touch(range);
    const [first = [], ...rest] = found;
    return rest.length === 0 ? first : first.concat(...rest);
  }

  /** Loads what a list needs, and returns its current entries; undefined when they do not fit. */
  async load(query: CachedQuery, signal: AbortSignal): Promise<Entry[] | undefined> {
    const { prefix, after, countMax } = query;
    if (!this.#mayLoad(query)) return undefined;
    const wanted = countMax ?? Number.POSITIVE_INFINITY;
    const range = countMax === undefined ? rangeUnder(prefix) : rangeUnder(prefix, after);
    for (let holes = 0; holes < holesMax; holes++) {
      const collection = this.#openCollection(query.collection);
      const hole = collection.firstHole(range, prefix, wanted);
      if (hole === undefined) break;
      const missing = countMax === undefined ? range : hole;
      const loading =
        collection.loadingOf(missing, wanted) ?? this.#begin(collection, missing, query);
      await loading.done;
      if (countMax === undefined) break;
    }
    await this.#enqueueLoad();
    signal.throwIfAborted();
    return this.find(query);
  }

  /** The number of objects under a prefix, as far as they are known; does not count as a use. */
  countOf(collection: StorageKey, prefix: StorageKey): number | undefined {
    return (
      this.counts.peek(prefix) ??
      this.#tooLarge.get(prefix)?.count ??
      this.#collections.get(collection)?.knownCount(prefix)
    );
  }

  /** The number of objects of a list behind a key, when all of them are in memory. */
  residentCount(query: CachedQuery, after: StorageKey): number | undefined {
    const { collection, prefix, atRevision } = query;
    const parts = this.#collections.get(collection)?.partsOf(rangeUnder(prefix, after));
    if (parts === undefined) return undefined;
    let count = 0;
    for (const { resident } of parts) {
      if (resident === undefined) return undefined;
      if (atRevision !== undefined && resident.changedAt > atRevision) return undefined;
      count += resident.count(prefix, after);
    }
    return count;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get bytesMax(): number {
    return this.#options.bytesMax;
  }

  /** The number of resident ranges. */
  get size(): number {
    return this.#ranges.size;
  }

  /** Evicts ranges that were not used lately. Called by the owner's one timer. */
  sweep(): void {
    const now = this.#options.clock.monotonic();
    const idleMs = this.#options.idleMs ?? idleDefaultMs;
    for (const range of this.#ranges) {
      if (now - range.usedAt <= idleMs) break;
      this.#drop(range);
    }
    for (const refusals of [this.#tooLarge, this.#pageTooLarge])
      for (const [prefix, { until }] of refusals) if (until <= now) refusals.delete(prefix);
    this.counts.sweep();
  }

  /** Waiters of a loaded range resume one per turn of the event loop. */
  async #enqueueLoad(): Promise<void> {
    const before = this.#loadQueue;
    const after = before.then(yieldToEventLoop);
    this.#loadQueue = after;
    await before;
  }

  /**
   * Whether a list may load what it needs. A list by name is one read of the store. A page behind
   * the first one belongs to a scan, which must not evict what is in use: all of it has to fit.
   */
  #mayLoad({ collection, prefix, after, countMax, atRevision }: CachedQuery): boolean {
    const { hub, clock, bytesMax } = this.#options;
    if (!prefix.endsWith("/")) return false;
    if (atRevision !== undefined && atRevision < hub.revision) return false;
    const isFirstPage = countMax !== undefined && after === undefined;
    const refusals = isFirstPage ? this.#pageTooLarge : this.#tooLarge;
    if ((refusals.get(prefix)?.until ?? 0) > clock.monotonic()) return false;
    const count = isFirstPage ? countMax : this.counts.peek(prefix);
    if (count === undefined) return true;
    const each = this.#collections.get(collection)?.entryBytes ?? assumedEntryBytes;
    return count * each <= bytesMax / 2;
  }

  #openCollection(key: StorageKey): ResidentCollection {
    const known = this.#collections.get(key);
    if (known !== undefined) return known;
    const collection = new ResidentCollection((lost) => {
      lost.isLost = true;
      if (this.#collections.get(key) === lost) this.#collections.delete(key);
      for (const range of [...lost.ranges]) this.#drop(range);
    });
    const stop = this.#options.hub.listen(key, collection);
    collection.stop = () => {
      stop();
      if (this.#collections.get(key) === collection) this.#collections.delete(key);
    };
    this.#collections.set(key, collection);
    return collection;
  }

  #begin(collection: ResidentCollection, extent: KeyRange, query: CachedQuery): Loading {
    const { clock, hub } = this.#options;
    const range = new ResidentRange(extent, clock.monotonic(), hub.revision, this.#addBytes);
    const wanted = query.countMax ?? Number.POSITIVE_INFINITY;
    const done = this.#load(collection, range, query).finally(() => {
      collection.loading.delete(loading);
      if (collection.isUnused) collection.stop();
    });
    const loading: Loading = { ...extent, range, wanted, done };
    collection.loading.add(loading);
    return loading;
  }

  async #load(
    collection: ResidentCollection,
    range: ResidentRange,
    query: CachedQuery,
  ): Promise<void> {
    const { hub, bytesMax } = this.#options;
    const { prefix, countMax } = query;
    const wanted = Math.max(countMax ?? Number.POSITIVE_INFINITY, loadedEntriesMin);
    let last = range.after;
    while (last !== range.last) {
      const entriesMax = Math.max(1, Math.min(pageEntries, wanted - range.size));
      const page = await this.#readPage(prefix, last, entriesMax);
      for (const entry of page.entries) if (entry.key <= range.last) range.merge(entry);
      if (range.bytes > bytesMax / 2) return this.#refuse(query, range.size);
      const key = page.entries.at(-1)?.key;
      const isEnd = !page.more || key === undefined || key >= range.last;
      last = isEnd ? range.last : key;
      if (!isEnd && range.size < wanted) continue;
      if (await isContinuous(hub.waitForRevision(page.revision, neverAborted))) break;
      return;
    }
    if (collection.isLost) return;
    range.finishLoading(last, hub.revision);
    if (!collection.add(range, (overlapped) => this.#drop(overlapped))) return;
    this.#collectionOf.set(range, collection);
    this.#ranges.add(range);
    this.#bytes += range.bytes;
    this.#shrink();
  }

  #readPage(prefix: StorageKey, after: string, entriesMax: number): Promise<Page> {
    const continueAfter = after === prefix ? undefined : (after as StorageKey);
    const options = { signal: neverAborted, entriesMax, continueAfter };
    return this.#options.storage.list(prefix, options);
  }

  #touch(range: ResidentRange): void {
    range.usedAt = this.#options.clock.monotonic();
    this.#ranges.delete(range);
    this.#ranges.add(range);
  }

  /** Applies the budget to a resident range that grew or shrank, as to a loaded one. */
  readonly #addBytes = (range: ResidentRange, change: number): void => {
    if (!this.#ranges.has(range)) return;
    this.#bytes += change;
    if (change <= 0) return;
    if (range.bytes > this.#options.bytesMax / 2) {
      const prefix = range.after as StorageKey;
      if (range.last === rangeUnder(prefix).last) this.#refuse({ prefix }, range.size);
      this.#drop(range);
    } else if (this.#bytes > this.#options.bytesMax) {
      this.#shrink();
    }
  };

  #refuse({ prefix, countMax }: Pick<CachedQuery, "prefix" | "countMax">, count: number): void {
    const until = this.#options.clock.monotonic() + idleDefaultMs;
    const refusals = countMax === undefined ? this.#tooLarge : this.#pageTooLarge;
    refusals.set(prefix, { until, count });
  }

  #shrink(): void {
    for (const range of this.#ranges) {
      if (this.#bytes <= this.#options.bytesMax) return;
      this.#drop(range);
    }
  }

  #drop(range: ResidentRange): void {
    if (!this.#ranges.delete(range)) return;
    this.#bytes -= range.bytes;
    const collection = this.#collectionOf.get(range);
    collection?.remove(range);
    if (collection?.isUnused) collection.stop();
  }
}
