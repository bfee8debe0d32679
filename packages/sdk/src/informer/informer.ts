/**
 * Informer: a local copy of one resource that stays true, and tells what changes.
 *
 * The store is always a state that the server once had, and gets closer to its newest one. Who can do without the copy takes a Follower.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client, KubernetesObject, Resource, SelectorOptions } from "../client/index.ts";
import { type MetricsRegistry, reflectorMetrics, unreadableCounter } from "../metrics/index.ts";
import { StoreListerWatcher } from "./feed.ts";
import { type HandlerRegistration, Handlers, type InformerHandler } from "./handlers.ts";
import { type InformerHealth, Reflector } from "./informer-loop.ts";
import { liveObjectsMaxDefault } from "./object-table.ts";
import { IndexedStore, type Indexers, type ObjectStore } from "./store.ts";
import { isJsonSafe } from "./transforms.ts";

export interface InformerOptions<Object extends KubernetesObject, Cached> {
  readonly client: Client;
  readonly resource: Resource<Object>;
  readonly scope: InformerScope;
  readonly selector?: SelectorOptions | undefined;
  /** What to keep of an object. Without it, all. */
  readonly transform?: ((object: Object) => Cached) | undefined;
  /**
   * For who needs few objects of many: one that it says no to is not stored, as if it did not exist. Its deletion is told all the same, as far as
   * it is seen: behind `replaced`, deletions of objects that were not kept may have been missed.
   */
  readonly keep?: ((object: Object) => boolean) | undefined;
  readonly indexers?: Indexers<Cached> | undefined;
  /**
   * How many objects are kept as objects. All others are kept packed, for a third of the memory, and each read of one makes a new copy in some
   * microseconds. 1024 if left out; `Infinity` is for who reads a big store through again and again. With a transform of your own, left out means
   * `Infinity`: only you know whether what it makes survives JSON.
   */
  readonly liveObjectsMax?: number | undefined;
  /** Off: the state is fetched by pages even where the server could stream it. */
  readonly watchList?: boolean | undefined;
  readonly pageSize?: number | undefined;
  /** Counts under the names of client-go's reflectors. */
  readonly metrics?: MetricsRegistry | undefined;
  /** Errors of the way to the server and of handlers, for a log. The informer goes on. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/** One cluster, of which the client's requests speak anyway; or all logical clusters of a server. */
export type InformerScope = { readonly cluster: ClusterName } | "all-clusters";

export class Informer<Object extends KubernetesObject, Cached = Object> {
  readonly resource: Resource<Object>;
  readonly #store: IndexedStore<Cached>;
  readonly #handlers: Handlers<Cached>;
  readonly #loop: Reflector;

  constructor(options: InformerOptions<Object, Cached>) {
    this.resource = options.resource;
    const clock = options.clock ?? options.client.clock;
    const random = options.random ?? options.client.random;
    const report = (error: unknown) => options.onError?.(error);
    this.#handlers = new Handlers(report);
    const liveMaxDefault = isJsonSafe(options.transform) ? liveObjectsMaxDefault : Infinity;
    this.#store = new IndexedStore(options.liveObjectsMax ?? liveMaxDefault);
    if (options.indexers !== undefined) this.#store.addIndexers(options.indexers);
    const metrics = reflectorMetrics(options.metrics, options.resource);
    const feed = new StoreListerWatcher({
      ...options,
      client: options.scope === "all-clusters" ? options.client.inCluster("*") : options.client,
      clock,
      random,
      store: this.#store,
      handlers: this.#handlers,
      onUnreadable: unreadableCounter(metrics, report),
    });
    const method = options.watchList === false ? "pages" : "stream";
    this.#loop = new Reflector({ feed, method, clock, random, report, metrics });
  }

  get store(): ObjectStore<Cached> {
    return this.#store;
  }

  get hasSynced(): boolean {
    return this.#loop.hasSynced;
  }

  get health(): InformerHealth {
    return this.#loop.health;
  }

  /** Tells `handler` the present state right now, and every change from now on. */
  addHandler(handler: InformerHandler<Cached>): HandlerRegistration {
    const registration = this.#handlers.add(handler);
    for (const [key, object] of this.#store.entries()) {
      this.#handlers.tell([handler], (one) => one.added?.(object, { key, initial: true }));
    }
    return registration;
  }

  addIndexers(indexers: Indexers<Cached>): void {
    this.#store.addIndexers(indexers);
  }

  /** Resolves when the store has held a whole state of the server for the first time. */
  synced(signal?: AbortSignal): Promise<void> {
    return this.#loop.synced(signal);
  }

  /**
   * For who has found out that something was missed: the state is fetched anew, and handlers hear what differs. Until then the store stays as it is. Does nothing
   * while the informer is busy with that anyway.
   */
  resync(): void {
    this.#loop.resync();
  }

  /** Works until the signal aborts, whatever happens, and resolves then. Call it once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#loop.run(signal);
  }
}
