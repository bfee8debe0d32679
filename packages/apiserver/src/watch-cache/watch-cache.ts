/** The watch cache: the hub, the cached collections, and the open watches, behind one interface. */
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
  /** The limit of bytes in cached collections. */
  readonly collectionBytesMax?: number;
  readonly bookmarkIntervalMs?: number;
  readonly unread?: Partial<UnreadLimits> | undefined;
  /** See `ObjectReaderOptions`. */
  readonly collectGarbage?: (() => void) | undefined;
}

const collectionBytesDefault = 128 << 20;
const bookmarkIntervalDefaultMs = 60_000;

export class WatchCache {
  readonly hub: WatchHub;
  /** The memory that open watches hold for unread events. */
  readonly unread: UnreadBudget;
  readonly collections: CollectionCache;
  /** Called for every list that is answered from memory. */
  onCachedList: ((group: string, resource: string) => void) | undefined;
  /** The newest state of an object when it is cached; undefined means unknown. */
  readonly peek: (key: StorageKey) => Entry | undefined;
  readonly #reader: ObjectReader;
  readonly #watchers = new Set<Watcher>();
  /** The watchers by scope: a logical cluster, or all of them. */
  readonly #watchersOf = new Map<ClusterName | "*", Set<Watcher>>();
  readonly #options: WatchCacheOptions;
  #timer: Timer | undefined;
  #isClosing = false;

  constructor(options: WatchCacheOptions) {
    const { storage, clock } = options;
    this.#options = options;
    this.peek = storage.peek?.bind(storage) ?? (() => undefined);
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
      collectGarbage: options.collectGarbage,
      onCachedList: (collection) => {
        const { group, resource } = parseCollectionKey(collection);
        this.onCachedList?.(group, resource);
      },
    });
  }

  async start(): Promise<void> {
    await this.hub.start();
    this.#tick();
  }

  get(key: StorageKey, freshness: Freshness, signal: AbortSignal): Promise<Entry | undefined> {
    return this.#reader.get(key, freshness, signal);
  }

  list(query: ListQuery): Promise<ListResult> {
    return this.#reader.list(query);
  }

  waitUntilFresh(freshness: Freshness, signal: AbortSignal): Promise<void> {
    return this.#reader.waitUntilFresh(freshness, signal);
  }

  /** The watch begins when its first event is requested: an unread watch costs nothing. */
  watch(request: WatchRequest): Watcher {
    const { storage, clock } = this.#options;
    const watcher = new Watcher(request, { storage, hub: this.hub, clock });
    const cluster = clusterOf(request.prefix);
    watcher.observe({
      onBegin: () => {
        this.#addWatcher(cluster, watcher);
        if (this.#isClosing) watcher.end();
      },
      onEnd: () => this.#removeWatcher(cluster, watcher),
    });
    return watcher;
  }

  #addWatcher(cluster: ClusterName | "*", watcher: Watcher): void {
    this.#watchers.add(watcher);
    const others = this.#watchersOf.get(cluster);
    if (others === undefined) this.#watchersOf.set(cluster, new Set([watcher]));
    else others.add(watcher);
  }

  #removeWatcher(cluster: ClusterName | "*", watcher: Watcher): void {
    this.#watchers.delete(watcher);
    const others = this.#watchersOf.get(cluster);
    others?.delete(watcher);
    if (others?.size === 0) this.#watchersOf.delete(cluster);
  }

  /** Ends open watches cleanly, and new ones at once. */
  endWatches(): void {
    this.#isClosing = true;
    for (const watcher of this.#watchers) watcher.end();
  }

  /**
   * Ends the watches of one logical cluster, or the wildcard watches; delivered events are still
   * sent.
   */
  endWatchesOfCluster(cluster: ClusterName | "*"): void {
    for (const watcher of this.#watchersOf.get(cluster) ?? []) watcher.end();
  }

  /**
   * A logical cluster arrives, or has left: ends its watches after a bookmark, so that they resume
   * where it is, and drops what is known of it.
   */
  releaseCluster(cluster: ClusterName): void {
    for (const watcher of this.#watchersOf.get(cluster) ?? []) {
      watcher.onTick();
      watcher.end();
    }
    this.hub.releaseCluster(cluster);
  }

  /**
   * Releases memory in idle times. Events are in memory for watches that reconnect soon. All
   * watches are sent a bookmark, so that later reconnects need no earlier events; and the store has
   * these events, too.
   */
  async releaseMemory(): Promise<void> {
    for (const watcher of this.#watchers) watcher.onTick();
    this.hub.clearRing();
    await this.#options.storage.releaseMemory?.();
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    this.endWatches();
    await this.hub.close();
  }

  /** One timer for all tenants: sends bookmarks to idle watches, and releases unused memory. */
  #tick(): void {
    this.#timer = this.#options.clock.schedule(
      this.#options.bookmarkIntervalMs ?? bookmarkIntervalDefaultMs,
      () => {
        for (const watcher of this.#watchers) watcher.onTick();
        this.collections.sweep();
        this.hub.trimRing();
        this.#options.storage.evictUnused?.();
        this.#tick();
      },
    );
  }
}

/**
 * The cluster of `/<group>/<resource>/<identity>/<cluster>/…`, or `*` for a prefix that ends before
 * it.
 */
function clusterOf(prefix: StorageKey): ClusterName | "*" {
  const cluster = prefix.split("/", 5)[4] ?? "";
  return cluster === "" ? "*" : (cluster as ClusterName);
}
