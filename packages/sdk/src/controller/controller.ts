/**
 * Controller: watches resources, enqueues the keys that changes map to, and reconciles them.
 *
 * One key is never reconciled concurrently with itself. A failed key is requeued with growing
 * backoff; a reconcile that takes too long is aborted, and if it ignores the abort, its worker
 * continues with other keys while the key itself stays locked.
 */
import { type Clock, systemClock, type Timer } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  consoleLog,
  explainError,
  formatResource,
  type KubernetesObject,
  type Log,
  logAbout,
  onAbort,
  type Resource,
  type SelectorOptions,
  timeoutError,
} from "../client/index.ts";
import {
  formatKey,
  type Indexers,
  type ObjectKey,
  type SharedInformerOptions,
} from "../informer/index.ts";
import { type MetricsRegistry, processMetrics } from "../metrics/index.ts";
import { type AddOptions, type RateLimiter, WorkQueue } from "../work-queue/index.ts";
import { CachedReader } from "./cached-reader.ts";
import type { Change } from "./change.ts";
import type { Clusters, ObjectSource } from "./clusters.ts";
import { type ControllerMetrics, controllerMetrics } from "./controller-metrics.ts";
import { enqueueSelf, type Mapping } from "./mapping.ts";
import { OwnWrites } from "./own-writes.ts";
import type { Predicate } from "./predicates.ts";
import { ReconcileDeadline } from "./reconcile-deadline.ts";

export interface ControllerOptions {
  readonly name: string;
  readonly clusters: Clusters;
  /**
   * Brings the actual state closer to the desired state of the object at `key`. Must be able to
   * start from any state: it is level-triggered, and does not receive the change itself.
   */
  readonly reconcile: (key: ObjectKey, context: ReconcileContext) => Promise<ReconcileResult>;
  /** Concurrent reconciles. */
  readonly concurrency?: number;
  /** The timeout of one reconcile. */
  readonly timeoutMs?: number;
  readonly rateLimiter?: RateLimiter;
  readonly metrics?: MetricsRegistry;
  /** Called with failed reconciles, which are requeued. Omitted: they are logged. */
  readonly onError?: (error: unknown, key: ObjectKey) => void;
  /** Lines on stderr if omitted. */
  readonly log?: Log;
  readonly clock?: Clock;
}

export interface ReconcileContext {
  readonly key: ObjectKey;
  /** The client of the key's cluster. */
  readonly client: Client;
  /** With the controller and the key in front of every line. */
  readonly log: Log;
  /** Reads from the cache of a resource that this controller watches, with its own writes. */
  cached<Object extends KubernetesObject>(resource: Resource<Object>): CachedReader<Object>;
  /** Aborts when the reconcile times out, or when leadership is lost. */
  readonly signal: AbortSignal;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a reconciler that has nothing to say should not have to say so.
export type ReconcileResult = { readonly requeueAfterMs: number } | undefined | void;

export interface WatchSettings<Object, Cached> extends SharedInformerOptions<Object, Cached> {
  /** The keys to reconcile; the object's own key if omitted. */
  readonly map?: Mapping<Cached>;
  readonly predicate?: Predicate<Cached>;
  readonly priority?: number;
  /**
   * How long the reconcile of a change may wait, so that several changes of one key cause one
   * reconcile; not at all if omitted.
   */
  readonly delayMs?: (change: Change<Cached>) => number;
}

/** A cache that is only read: its changes reconcile nothing. */
export interface ReadSettings<Object> {
  readonly indexers?: Indexers<Object>;
  /** The server sends only what it selects, and `cached` has only that. */
  readonly selector?: SelectorOptions;
}

export interface RunOptions {
  /** Stop: start no new reconciles, finish those in flight. */
  readonly signal: AbortSignal;
  /** Abort all reconciles: leadership was lost. */
  readonly workSignal?: AbortSignal | undefined;
}

/** An error that a retry cannot resolve. */
export class TerminalError extends Error {
  /** A build may shorten the name of the class, which uncaught errors are printed with. */
  static override readonly name: string = "TerminalError";
  override readonly name = "TerminalError";
}

/** Keys of the initial list have a lower priority than keys of changes. */
export const initialPriority = -100;
const timeoutMsDefault = 60_000;
/** How long an aborted reconcile may take to end, before its worker abandons it. */
export const abandonAfterMs = 5000;
/** How long reconciles in flight may take to finish when the controller stops. */
export const drainMs = 20_000;

export class Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #clock: Clock;
  readonly #queue: WorkQueue<ObjectKey>;
  readonly #metrics: ControllerMetrics;
  readonly #abort = new AbortController();
  /** Of the reconciles in flight. */
  readonly #deadlines = new Set<ReconcileDeadline>();
  readonly #log: Log;
  readonly #caches = new Map<string, Cache>();
  readonly #ownWrites = new OwnWrites();

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = logAbout(options.log ?? consoleLog, options.name);
    const metrics = options.metrics ?? processMetrics;
    this.#metrics = controllerMetrics(metrics, options.name);
    this.#queue = new WorkQueue<ObjectKey>({
      name: options.name,
      keyOf: formatKey,
      flowOf: ({ cluster }) => cluster,
      rateLimiter: options.rateLimiter,
      metrics,
      clock: this.#clock,
    });
  }

  /** Reconciles when objects of this resource change. Returns the controller, for chaining. */
  watch<Object extends KubernetesObject, Cached = Object>(
    resource: Resource<Object>,
    settings: WatchSettings<Object, Cached> = {},
  ): this {
    const { map = enqueueSelf, predicate, priority = 0, delayMs, ...shared } = settings;
    const source = this.#options.clusters.source<Object, Cached>(resource, shared);
    if (shared.transform === undefined && shared.filter === undefined) {
      // Without a transform the cached objects are those of the resource.
      const whole = source as ObjectSource<unknown> as ObjectSource<KubernetesObject>;
      const indexers = (shared.indexers ?? {}) as Indexers<KubernetesObject>;
      this.#remember(resource, { source: whole, indexers, isSelected: !!shared.selector });
    }
    const enqueue = (change: Change<Cached>, level: number) => {
      if (predicate !== undefined && !predicate(change)) return;
      const waitMs = delayMs?.(change) ?? 0;
      const add = (key: ObjectKey) => this.#queue.addAfter(key, waitMs, { priority: level });
      for (const key of map(change.object, change.key)) add(key);
      if (change.type !== "updated" || map === enqueueSelf) return;
      // The keys that the previous object mapped to may have to be reconciled, too.
      for (const key of map(change.previous, change.key)) add(key);
    };
    source.addHandler({
      added: (object, { key, initial }) =>
        enqueue({ type: "added", key, object, initial }, initial ? initialPriority : priority),
      updated: (object, { key, previous }) =>
        enqueue({ type: "updated", key, object, previous }, priority),
      deleted: (object, { key }) => enqueue({ type: "deleted", key, object }, priority),
    });
    return this;
  }

  /** Keeps a cache of this resource for `context.cached`. Returns the controller, for chaining. */
  reads<Object extends KubernetesObject>(
    resource: Resource<Object>,
    settings: ReadSettings<Object> = {},
  ): this {
    const source = this.#options.clusters.source<Object>(resource, settings);
    this.#remember(resource, {
      source: source as ObjectSource<unknown> as ObjectSource<KubernetesObject>,
      indexers: (settings.indexers ?? {}) as Indexers<KubernetesObject>,
      isSelected: settings.selector !== undefined,
    });
    return this;
  }

  /** Of several caches of a resource the first counts, and one of all objects before the others. */
  #remember(resource: Resource, cache: Cache): void {
    const id = formatResource(resource);
    const known = this.#caches.get(id);
    if (known === undefined || (known.isSelected && !cache.isSelected)) this.#caches.set(id, cache);
    else if (known.source === cache.source)
      this.#caches.set(id, { ...known, indexers: { ...known.indexers, ...cache.indexers } });
  }

  enqueue(key: ObjectKey, options: AddOptions = {}): void {
    this.#queue.add(key, options);
  }

  get queueDepth(): number {
    return this.#queue.depth;
  }

  /**
   * Runs until the signal aborts; resolves when the reconciles in flight have finished, or have had
   * their time. Call it once.
   */
  async run({ signal, workSignal }: RunOptions): Promise<void> {
    const { concurrency = 1 } = this.#options;
    this.#metrics.workers.set(concurrency);
    const kill = () => {
      this.#endAll(workSignal?.reason);
      this.#queue.shutDown();
    };
    const stopped = new Promise<void>((resolve) => {
      for (const one of [signal, workSignal]) onAbort(one, resolve);
    });
    const stopListening = onAbort(workSignal, kill);
    const workers = Array.from({ length: concurrency }, () => this.#worker());
    await Promise.race([stopped, Promise.all(workers)]);
    this.#queue.shutDown();
    await this.#drain();
    stopListening();
  }

  async #drain(): Promise<void> {
    const wait = (ms: number) =>
      new Promise<void>((resolve) => {
        const timer = this.#clock.schedule(ms, resolve);
        void this.#queue.idle().then(() => {
          timer.cancel();
          resolve();
        });
      });
    if (this.#queue.processing > 0 && !this.#abort.signal.aborted) await wait(drainMs);
    this.#endAll(new Error("the controller has stopped"));
    if (this.#queue.processing > 0) await wait(abandonAfterMs);
  }

  #endAll(reason: unknown): void {
    this.#abort.abort(reason);
    for (const deadline of this.#deadlines) deadline.end(this.#abort.signal.reason);
  }

  async #worker(): Promise<void> {
    for (;;) {
      const key = await this.#queue.get();
      if (key === undefined) return;
      const ready = this.#options.clusters.ready(key.cluster);
      if (ready !== undefined) {
        this.#postpone(key, ready);
        continue;
      }
      await this.#process(key);
    }
  }

  /** The cluster's cache has not synced yet. */
  #postpone(key: ObjectKey, ready: Promise<void>): void {
    this.#queue.done(key);
    void ready.then(() => this.enqueue(key, { priority: initialPriority }));
  }

  /**
   * Resolves when the worker may continue; for a reconcile that ignores its abort, this is before
   * its end.
   */
  #process(key: ObjectKey): Promise<void> {
    this.#metrics.activeWorkers.add(1);
    return new Promise((resolve, reject) => {
      let abandon: Timer | undefined;
      const timeoutMs = this.#options.timeoutMs ?? timeoutMsDefault;
      const deadline = new ReconcileDeadline({
        clock: this.#clock,
        timeoutMs,
        timeoutError: () => timeoutError(`reconciling ${formatKey(key)}`, timeoutMs),
        onEnd: () => {
          if (!this.#abort.signal.aborted) this.#metrics.timeouts.increment();
          abandon = this.#clock.schedule(abandonAfterMs, resolve);
        },
      });
      this.#deadlines.add(deadline);
      if (this.#abort.signal.aborted) deadline.end(this.#abort.signal.reason);
      this.#reconcile(key, deadline)
        .finally(() => {
          deadline.cancel();
          this.#deadlines.delete(deadline);
          abandon?.cancel();
          this.#metrics.activeWorkers.add(-1);
        })
        .then(resolve, reject);
    });
  }

  async #reconcile(key: ObjectKey, deadline: ReconcileDeadline): Promise<void> {
    const startedAtMs = this.#clock.monotonic();
    try {
      const result = await this.#options.reconcile(key, this.#context(key, deadline));
      this.#queue.forget(key);
      if (result === undefined || result === null) this.#metrics.outcomes.success.increment();
      else {
        this.#metrics.outcomes.requeue_after.increment();
        this.#queue.addAfter(key, result.requeueAfterMs);
      }
    } catch (error) {
      this.#fail(key, error);
    } finally {
      this.#metrics.seconds.observe((this.#clock.monotonic() - startedAtMs) / 1000);
      this.#queue.done(key);
    }
  }

  /** What few reconciles need is made when it is asked for. */
  #context(key: ObjectKey, deadline: ReconcileDeadline): ReconcileContext {
    const { cluster } = key;
    // Of a cluster that was removed nothing is reconciled: it throws here.
    const given = this.#options.clusters.client(cluster);
    const client = () => this.#observed(given, cluster);
    const log = () => logAbout(this.#log, formatKey(key));
    return {
      key,
      get signal() {
        return deadline.signal;
      },
      get client() {
        return client();
      },
      get log() {
        return log();
      },
      cached: (resource) => this.#cached(resource, cluster),
    };
  }

  #observed(client: Client, cluster: ClusterName): Client {
    return client.forController(this.name, (resource, { name, namespace = "" }, written) => {
      const cache = this.#caches.get(formatResource(resource));
      if (cache === undefined) return;
      const at = { cluster, namespace, name };
      this.#ownWrites.written(resource, at, written, cache.source.store.get(at));
    });
  }

  #cached<Object extends KubernetesObject>(
    resource: Resource<Object>,
    cluster: ClusterName,
  ): CachedReader<Object> {
    const cache = this.#caches.get(formatResource(resource));
    if (cache === undefined) {
      const text = `${this.name} has no cache of ${formatResource(resource)}`;
      throw new TerminalError(`${text}: declare it with reads, watch or owns`);
    }
    const { source, indexers } = cache as Cache<unknown> as Cache<Object>;
    return new CachedReader({ resource, cluster, source, indexers, ownWrites: this.#ownWrites });
  }

  #fail(key: ObjectKey, error: unknown): void {
    this.#metrics.outcomes.error.increment();
    this.#metrics.errors.increment();
    const isFinal =
      error instanceof Error &&
      (error.name === "TerminalError" || error.name === "UnknownClusterError");
    if (this.#options.onError === undefined) this.#logFailure(key, error, isFinal);
    else this.#options.onError(error, key);
    if (isFinal) {
      this.#metrics.terminalErrors.increment();
      this.#queue.forget(key);
    } else {
      this.#queue.addRateLimited(key);
    }
  }

  /** A key that fails again and again is logged less and less often. */
  #logFailure(key: ObjectKey, error: unknown, isFinal: boolean): void {
    const attempt = this.#queue.retries(key) + 1;
    const isPowerOfTwo = (attempt & (attempt - 1)) === 0;
    // Somebody else was faster: the usual reason, and the next attempt reads the newer object.
    const isConflict = isStatusError(error, "Conflict") && attempt < conflictsLogged;
    if (!isFinal && (!isPowerOfTwo || isConflict)) return;
    const next = isFinal ? "it is not tried again" : `attempt ${attempt}, it is tried again`;
    const line = `${formatKey(key)}: ${explainError(error)}; ${next}`;
    if (isFinal) this.#log.error(line);
    else this.#log.warn(line);
  }
}

/** So many conflicts of one key in a row are no accident. */
const conflictsLogged = 8;

interface Cache<Cached = KubernetesObject> {
  readonly source: ObjectSource<Cached>;
  readonly indexers: Indexers<Cached>;
  /** It has not all objects of the resource. */
  readonly isSelected: boolean;
}
