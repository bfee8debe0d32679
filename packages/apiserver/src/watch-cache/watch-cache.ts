/**
 * The watch cache: the hub, the collections in use, and the watches that are open, behind one door.
 */
import type { Clock, Supervisor, Timer } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Entry, parseCollectionKey, type Storage, type StorageKey } from "../storage/index.ts";
import { CollectionCache } from "./collection-cache.ts";
import { type Freshness, type ListQuery, type ListResult, ObjectReader } from "./object-reader.ts";
import { UnreadBudget, type UnreadLimits } from "./unread-budget.ts";
import { WatchHub } from "./watch-hub.ts";
import { Watcher, type WatchRequest } from "./watcher.ts";

export interface WatchCacheOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  readonly onError: (error: unknown) => void;
  /** Bytes that lists in use may hold in memory. */
  readonly collectionBytesMax?: number;
  readonly bookmarkIntervalMs?: number;
  readonly unread?: Partial<UnreadLimits> | undefined;
  /** See `ObjectReaderOptions`. */
  readonly tidyMemory?: (() => void) | undefined;
}

const collectionBytesDefault = 128 << 20;
const bookmarkIntervalDefaultMs = 60_000;

export class WatchCache {
  readonly hub: WatchHub;
  /** What open watches hold for clients that have not read it. */
  readonly unread: UnreadBudget;
  readonly collections: CollectionCache;
  /** Told of every list that is answered from memory. */
  onMemoryList: ((group: string, resource: string) => void) | undefined;
  readonly #reader: ObjectReader;
  readonly #watchers = new Set<Watcher>();
  /** The same by what they watch: a logical cluster, or all of them. */
  readonly #watchersOf = new Map<ClusterName | "*", Set<Watcher>>();
  readonly #options: WatchCacheOptions;
  #timer: Timer | undefined;
  #isClosing = false;

  constructor(options: WatchCacheOptions) {
    const { storage, clock } = options;
    this.#options = options;
    this.hub = new WatchHub(options);
    this.unread = new UnreadBudget(options.unread);
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
      onMemoryList: (collection) => {
        const { group, resource } = parseCollectionKey(collection);
        this.onMemoryList?.(group, resource);
      },
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

  list(query: ListQuery): Promise<ListResult> {
    return this.#reader.list(query);
  }

  catchUp(freshness: Freshness, signal: AbortSignal): Promise<void> {
    return this.#reader.catchUp(freshness, signal);
  }

  /** The watch begins when its first event is asked for: one that nobody reads costs nothing. */
  watch(request: WatchRequest): Watcher {
    const { storage, clock } = this.#options;
    const watcher = new Watcher(request, { storage, hub: this.hub, clock });
    const cluster = clusterOf(request.prefix);
    watcher.note({
      onBegin: () => {
        this.#enter(cluster, watcher);
        if (this.#isClosing) watcher.end();
      },
      onEnd: () => this.#leave(cluster, watcher),
    });
    return watcher;
  }

  #enter(cluster: ClusterName | "*", watcher: Watcher): void {
    this.#watchers.add(watcher);
    const others = this.#watchersOf.get(cluster);
    if (others === undefined) this.#watchersOf.set(cluster, new Set([watcher]));
    else others.add(watcher);
  }

  #leave(cluster: ClusterName | "*", watcher: Watcher): void {
    this.#watchers.delete(watcher);
    const others = this.#watchersOf.get(cluster);
    others?.delete(watcher);
    if (others?.size === 0) this.#watchersOf.delete(cluster);
  }

  get watcherCount(): number {
    return this.#watchers.size;
  }

  /** Ends open watches cleanly, and new ones at once. */
  endWatches(): void {
    this.#isClosing = true;
    for (const watcher of this.#watchers) watcher.end();
  }

  /** Ends what watches one logical cluster, or those who watch all of them at once; what they were told of already is still sent. */
  endWatchesOf(cluster: ClusterName | "*"): void {
    for (const watcher of this.#watchersOf.get(cluster) ?? []) watcher.end();
  }

  /**
   * For quiet times. Changes are kept in memory for watches that come back soon. All of them are told how far they have come, so that those who come back later
   * need nothing of before; and the store has it, too.
   */
  async settle(): Promise<void> {
    for (const watcher of this.#watchers) watcher.onTick();
    this.hub.forgetRing();
    await this.#options.storage.settle?.();
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

/** Of `/<group>/<resource>/<identity>/<cluster>/…`, or of a prefix that ends before it. */
function clusterOf(prefix: StorageKey): ClusterName | "*" {
  const cluster = prefix.split("/", 5)[4] ?? "";
  return cluster === "" ? "*" : (cluster as ClusterName);
}
