/**
 * Informer: a local cache of one resource that stays in sync with the server, and delivers changes
 * to handlers.
 *
 * The store is always a state that the server once had, and approaches the newest one. A program
 * that needs no cache uses a StorelessInformer.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Client,
  consoleLog,
  explainError,
  FailureLog,
  formatResource,
  type KubernetesObject,
  type Log,
  logAbout,
  type Resource,
  type SelectorOptions,
} from "../client/index.ts";
import { type MetricsRegistry, reflectorMetrics, unreadableCounter } from "../metrics/index.ts";
import { type HandlerRegistration, Handlers, type InformerHandler } from "./handlers.ts";
import { liveObjectsMaxDefault } from "./object-table.ts";
import { type InformerHealth, Reflector } from "./reflector.ts";
import { IndexedStore, type Indexers, type ObjectStore } from "./store.ts";
import { StoreListerWatcher } from "./store-lister-watcher.ts";
import { isJsonSafe } from "./transforms.ts";
import { WildcardResource } from "./wildcard-resource.ts";

export interface InformerOptions<Object extends KubernetesObject, Cached> {
  readonly client: Client;
  readonly resource: Resource<Object>;
  readonly scope: InformerScope;
  readonly selector?: SelectorOptions | undefined;
  /** The transform of objects before they are stored. Omitted: objects are stored unchanged. */
  readonly transform?: ((object: Object) => Cached) | undefined;
  /**
   * For programs that need few of many objects: an object for which it returns false is not stored,
   * as if it did not exist. Its deletion is delivered all the same, as far as the watch shows it:
   * during a relist, which ends with `replaced`, deletions of objects that are not stored may be
   * missed.
   */
  readonly filter?: ((object: Object) => boolean) | undefined;
  readonly indexers?: Indexers<Cached> | undefined;
  /**
   * How many objects are kept as JavaScript objects. All others are packed, in a third of the
   * memory, and each read creates a new copy in some microseconds. 1024 by default; `Infinity` is
   * for programs that iterate over a large store again and again. With a custom transform the
   * default is `Infinity`: only the program knows whether the transform's result survives JSON.
   */
  readonly liveObjectsMax?: number | undefined;
  /** Off: the state is fetched in pages even where the server could stream it. */
  readonly watchList?: boolean | undefined;
  readonly pageSize?: number | undefined;
  /** Counts under the metric names of client-go's reflectors. */
  readonly metrics?: MetricsRegistry | undefined;
  /**
   * Called with errors of requests and of handlers; the informer continues. Omitted: they are
   * logged, as `log` does it.
   */
  readonly onError?: ((error: unknown, log: () => void) => void) | undefined;
  /** Lines on stderr if omitted. */
  readonly log?: Log | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/** One cluster, that of the client's requests; or all logical clusters of a server. */
export type InformerScope = { readonly cluster: ClusterName } | "all-clusters";

export class Informer<Object extends KubernetesObject, Cached = Object> {
  readonly resource: Resource<Object>;
  readonly #store: IndexedStore<Cached>;
  readonly #handlers: Handlers<Cached>;
  readonly #reflector: Reflector;

  constructor(options: InformerOptions<Object, Cached>) {
    this.resource = options.resource;
    const clock = options.clock ?? options.client.clock;
    const random = options.random ?? options.client.random;
    const { resource } = options;
    const log = logAbout(options.log ?? consoleLog, `watch of ${formatResource(resource)}`);
    const failures = new FailureLog(log);
    const { onError = (_: unknown, logIt: () => void) => logIt() } = options;
    const report = (error: unknown) =>
      onError(error, () => failures.failed(explainError(error, { resource })));
    this.#handlers = new Handlers(report);
    this.#handlers.add({ resumed: () => failures.succeeded() });
    const liveMaxDefault = isJsonSafe(options.transform) ? liveObjectsMaxDefault : Infinity;
    this.#store = new IndexedStore(
      options.liveObjectsMax ?? liveMaxDefault,
      options.client.responseLimits?.memory?.objects,
    );
    if (options.indexers !== undefined) this.#store.addIndexers(options.indexers);
    const metrics = reflectorMetrics(options.metrics, options.resource);
    const onSplit = () =>
      log.info("over all logical clusters only metadata is served: objects are read one by one");
    const listerWatcher = new StoreListerWatcher({
      ...options,
      resource:
        options.scope === "all-clusters"
          ? new WildcardResource(options.client.inCluster("*"), resource, onSplit)
          : options.client.resource(resource),
      clock,
      random,
      store: this.#store,
      handlers: this.#handlers,
      onUnreadable: unreadableCounter(metrics, report),
    });
    const method = options.watchList === false ? "pages" : "stream";
    const { connectivity } = options.client;
    const common = { connectivity, clock, random, report, metrics };
    this.#reflector = new Reflector({ listerWatcher, method, ...common });
  }

  get store(): ObjectStore<Cached> {
    return this.#store;
  }

  get hasSynced(): boolean {
    return this.#reflector.hasSynced;
  }

  get health(): InformerHealth {
    return this.#reflector.health;
  }

  /** The version up to which all changes are in the store. */
  seenVersion(): string | undefined {
    return this.#reflector.health.resourceVersion;
  }

  /** Delivers the current state to `handler` at once, and every change from now on. */
  addHandler(handler: InformerHandler<Cached>): HandlerRegistration {
    const registration = this.#handlers.add(handler);
    for (const [key, object] of this.#store.entries()) {
      this.#handlers.notify([handler], (one) => one.added?.(object, { key, initial: true }));
    }
    return registration;
  }

  addIndexers(indexers: Indexers<Cached>): void {
    this.#store.addIndexers(indexers);
  }

  /** Resolves when the store has held a complete state of the server for the first time. */
  synced(signal?: AbortSignal): Promise<void> {
    return this.#reflector.synced(signal);
  }

  /** Resolves when the store has a state that the server had after this call. */
  refreshed(signal?: AbortSignal): Promise<void> {
    return this.#reflector.refreshed(signal);
  }

  /**
   * For callers that have detected a missed change: the informer lists again, and handlers receive
   * the differences. Until then the store stays unchanged. Does nothing while the informer lists
   * anyway.
   */
  resync(): void {
    this.#reflector.resync();
  }

  /** Runs until the signal aborts, and resolves then; no failure ends it. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#reflector.run(signal);
    } finally {
      this.#store.releaseMemory();
    }
  }
}
