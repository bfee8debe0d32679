/**
 * The watch cache: the hub, the collections in use, and the watches that are open, behind one door.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { Entry, Storage, StorageKey } from "../storage/index.ts";
import { CollectionCache } from "./collection-cache.ts";
import { type Freshness, type Listing, type ListQuery, ObjectReader } from "./object-reader.ts";
import { WatchHub } from "./watch-hub.ts";
import { Watcher, type WatchRequest } from "./watcher.ts";

export interface WatchCacheOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
  /** Bytes that lists in use may hold in memory. */
  readonly collectionBytesMax?: number;
  readonly bookmarkIntervalMs?: number;
  /** See `ObjectReaderOptions`. */
  readonly tidyMemory?: (() => void) | undefined;
}

const collectionBytesDefault = 128 << 20;
const bookmarkIntervalDefaultMs = 60_000;

export class WatchCache {
  readonly hub: WatchHub;
  readonly collections: CollectionCache;
  readonly #reader: ObjectReader;
  readonly #watchers = new Set<Watcher>();
  readonly #options: WatchCacheOptions;
  #timer: Timer | undefined;
  #isClosing = false;

  constructor(options: WatchCacheOptions) {
    const { storage, clock } = options;
    this.#options = options;
    this.hub = new WatchHub(options);
    this.collections = new CollectionCache({
      storage,
      hub: this.hub,
      clock,
      bytesMax: options.collectionBytesMax ?? collectionBytesDefault,
    });
    this.#reader = new ObjectReader({
      storage,
      hub: this.hub,
      collections: this.collections,
      clock,
      tidyMemory: options.tidyMemory,
    });
  }

  async start(): Promise<void> {
    await this.hub.start();
    this.#tick();
  }

  /** The newest state of an object when it is in memory; undefined says nothing. */
  peek(key: StorageKey): Entry | undefined {
    return this.#options.storage.peek?.(key);
  }

  get(key: StorageKey, freshness: Freshness, signal: AbortSignal): Promise<Entry | undefined> {
    return this.#reader.get(key, freshness, signal);
  }

  list(query: ListQuery): Promise<Listing> {
    return this.#reader.list(query);
  }

  catchUp(freshness: Freshness, signal: AbortSignal): Promise<void> {
    return this.#reader.catchUp(freshness, signal);
  }

  /** The watch begins when its first event is asked for: one that nobody reads costs nothing. */
  async *watch(request: WatchRequest): AsyncGenerator<Uint8Array> {
    const { storage, clock } = this.#options;
    const watcher = new Watcher(request, { storage, hub: this.hub, clock });
    this.#watchers.add(watcher);
    if (this.#isClosing) watcher.end();
    try {
      yield* watcher.stream();
    } finally {
      this.#watchers.delete(watcher);
    }
  }

  get watcherCount(): number {
    return this.#watchers.size;
  }

  /** Ends open watches cleanly, and new ones at once. */
  endWatches(): void {
    this.#isClosing = true;
    for (const watcher of this.#watchers) watcher.end();
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.endWatches();
    await this.hub.close();
  }

  /** One timer for all tenants: bookmarks for idle watches, and memory for what nobody uses. */
  #tick(): void {
    this.#timer = this.#options.clock.schedule(
      this.#options.bookmarkIntervalMs ?? bookmarkIntervalDefaultMs,
      () => {
        for (const watcher of this.#watchers) watcher.onTick();
        this.collections.sweep();
        this.hub.tidy();
        this.#options.storage.tidy?.();
        this.#tick();
      },
    );
  }
}
