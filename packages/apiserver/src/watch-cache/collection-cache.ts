/**
 * Caches collections in use: all objects of one resource in one logical cluster, held in memory
 * while clients list them.
 *
 * A collection is loaded by the first list, updated by the hub, and evicted when it was not used
 * for a while or the budget is needed for others; so an idle tenant costs nothing. Loading reads
 * each page at its own revision and lets the hub's events, which carry revisions, correct the
 * objects that changed meanwhile.
 */
import { type Clock, neverAborted, SortedMap, yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { Entry, Revision, Storage, StorageError, StorageKey } from "../storage/index.ts";
import type { HubEvent } from "./hub-event.ts";
import { isContinuous } from "./is-continuous.ts";
import type { HubListener, WatchHub } from "./watch-hub.ts";

export interface CollectionCacheOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
  /** The limit of value bytes in all collections together. */
  readonly bytesMax: number;
  readonly idleMs?: number;
}

const pageEntries = 250;
const entryOverheadBytes = 300;
/**
 * The memory of a collection without objects: a user with access to all logical clusters can list
 * any number of them.
 */
const collectionOverheadBytes = 1500;
const idleDefaultMs = 120_000;

export class CollectionCache {
  readonly #options: CollectionCacheOptions;
  /** In order of last use, oldest first. */
  readonly #collections = new Map<StorageKey, Collection>();
  readonly #loading = new Map<StorageKey, Loading>();
  /**
   * Collections that did not fit: the time until the next attempt, and their minimal number of
   * objects.
   */
  readonly #tooLarge = new Map<StorageKey, { readonly until: number; readonly count: number }>();
  #bytes = 0;
  #loadQueue: Promise<void> = Promise.resolve();

  constructor(options: CollectionCacheOptions) {
    this.#options = options;
  }

  /** The collection under a cluster prefix, or undefined when it is too large to cache. */
  async get(prefix: StorageKey, signal: AbortSignal): Promise<Collection | undefined> {
    const found = this.peek(prefix);
    if (found !== undefined) return found;
    const now = this.#options.clock.monotonic();
    if ((this.#tooLarge.get(prefix)?.until ?? 0) > now) return undefined;
    const loading = this.#loading.get(prefix) ?? this.#begin(prefix);
    const collection = await loading.done;
    await this.#enqueueLoad();
    signal.throwIfAborted();
    return collection;
  }

  #begin(prefix: StorageKey): Loading {
    const { clock } = this.#options;
    const collection: Collection = new Collection(clock.monotonic(), {
      onLost: () => this.#drop(prefix, collection),
      onBytes: (change) => this.#addBytes(prefix, collection, change),
    });
    const done = this.#load(prefix, collection).finally(() => this.#loading.delete(prefix));
    const loading = { collection, done };
    this.#loading.set(prefix, loading);
    return loading;
  }

  /** Waiters of a loaded collection resume one per turn of the event loop. */
  async #enqueueLoad(): Promise<void> {
    const before = this.#loadQueue;
    const after = before.then(yieldToEventLoop);
    this.#loadQueue = after;
    await before;
  }

  /** The collection if it is cached now. */
  peek(prefix: StorageKey): Collection | undefined {
    const found = this.#collections.get(prefix);
    if (found === undefined) return undefined;
    found.usedAt = this.#options.clock.monotonic();
    this.#collections.delete(prefix);
    this.#collections.set(prefix, found);
    return found;
  }

  /** The number of objects in a collection, as far as it has been read; does not count as a use. */
  countOf(prefix: StorageKey): number | undefined {
    const held = this.#collections.get(prefix) ?? this.#loading.get(prefix)?.collection;
    return held === undefined ? this.#tooLarge.get(prefix)?.count : held.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#collections.size;
  }

  /** Evicts collections that were not used lately. Called by the owner's one timer. */
  sweep(): void {
    const now = this.#options.clock.monotonic();
    const idleMs = this.#options.idleMs ?? idleDefaultMs;
    for (const [prefix, collection] of this.#collections) {
      if (now - collection.usedAt > idleMs) this.#drop(prefix, collection);
    }
    for (const [prefix, { until }] of this.#tooLarge)
      if (until <= now) this.#tooLarge.delete(prefix);
  }

  async #load(prefix: StorageKey, collection: Collection): Promise<Collection | undefined> {
    const { storage, hub, bytesMax } = this.#options;
    const signal = neverAborted;
    collection.stop = hub.listen(prefix, collection);
    let loaded = false;
    try {
      let continueAfter: StorageKey | undefined;
      for (;;) {
        const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
        for (const entry of page.entries) collection.merge(entry);
        if (collection.bytes > bytesMax / 2) {
          this.#refuse(prefix, collection);
          return undefined;
        }
        if (!page.more) {
          if (!(await isContinuous(hub.waitForRevision(page.revision, signal)))) return undefined;
          break;
        }
        continueAfter = page.entries.at(-1)?.key;
      }
      if (collection.lost) return undefined;
      collection.finishLoading();
      loaded = true;
    } finally {
      if (!loaded) collection.stop();
    }
    this.#collections.set(prefix, collection);
    this.#bytes += collection.bytes;
    this.#shrink();
    return collection;
  }

  /** Applies the budget to a cached collection that grew or shrank, as to a loaded one. */
  #addBytes(prefix: StorageKey, collection: Collection, change: number): void {
    if (this.#collections.get(prefix) !== collection) return;
    this.#bytes += change;
    if (change <= 0) return;
    if (collection.bytes > this.#options.bytesMax / 2) {
      this.#refuse(prefix, collection);
      this.#drop(prefix, collection);
    } else if (this.#bytes > this.#options.bytesMax) {
      this.#shrink();
    }
  }

  #refuse(prefix: StorageKey, { size }: Collection): void {
    const until = this.#options.clock.monotonic() + idleDefaultMs;
    this.#tooLarge.set(prefix, { until, count: size });
  }

  #shrink(): void {
    for (const [prefix, collection] of this.#collections) {
      if (this.#bytes <= this.#options.bytesMax) return;
      this.#drop(prefix, collection);
    }
  }

  #drop(prefix: StorageKey, collection: Collection): void {
    collection.stop();
    if (this.#collections.get(prefix) !== collection) return;
    this.#collections.delete(prefix);
    this.#bytes -= collection.bytes;
  }
}

interface Loading {
  readonly collection: Collection;
  readonly done: Promise<Collection | undefined>;
}

interface CollectionOwner {
  onLost(): void;
  onBytes(change: number): void;
}

export class Collection implements HubListener {
  readonly #entries = new SortedMap<Entry>();
  /**
   * While loading: deleted keys with their revisions, so that an older page does not restore them.
   */
  #deleted: Map<StorageKey, Revision> | undefined = new Map();
  readonly #owner: CollectionOwner;
  usedAt: number;
  bytes = collectionOverheadBytes;
  lost = false;
  stop: () => void = () => {};

  constructor(usedAt: number, owner: CollectionOwner) {
    this.usedAt = usedAt;
    this.#owner = owner;
  }

  /** The current entries under a prefix, up to the given number. */
  slice(prefix: StorageKey, after?: StorageKey, countMax?: number): Entry[] {
    return this.#entries.slice(prefix, after, countMax);
  }

  get size(): number {
    return this.#entries.size;
  }

  count(prefix: StorageKey, after?: StorageKey): number {
    return this.#entries.countRange(prefix, after);
  }

  get(key: StorageKey): Entry | undefined {
    return this.#entries.get(key);
  }

  /** Adds an entry that was read, unless a newer one is cached. */
  merge(entry: Entry): void {
    const known = this.#entries.get(entry.key);
    const newest = Math.max(known?.modifiedAt ?? 0, this.#deleted?.get(entry.key) ?? 0);
    if (entry.modifiedAt > newest) this.#put(entry, known);
  }

  finishLoading(): void {
    this.#deleted = undefined;
  }

  onEvent(event: HubEvent): void {
    const known = this.#entries.get(event.key);
    if (known !== undefined && known.modifiedAt >= event.revision) return;
    if (event.current !== undefined) {
      this.#put(event.current, known);
      return;
    }
    this.#deleted?.set(event.key, event.revision);
    if (known === undefined) return;
    this.#entries.delete(event.key);
    this.#count(-known.value.length - entryOverheadBytes);
  }

  onLost(_error: StorageError): void {
    this.lost = true;
    this.#owner.onLost();
  }

  #put(entry: Entry, known: Entry | undefined): void {
    this.#entries.set(entry.key, entry);
    this.#count(
      entry.value.length - (known === undefined ? -entryOverheadBytes : known.value.length),
    );
  }

  #count(change: number): void {
    this.bytes += change;
    this.#owner.onBytes(change);
  }
}
