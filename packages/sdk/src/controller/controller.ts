/**
 * Controller: watches resources, enqueues the keys that changes map to, and reconciles them.
 *
 * One key is never reconciled concurrently with itself. A failed key is requeued with growing
 * backoff; a reconcile that takes too long is aborted, and if it ignores the abort, its worker
 * continues with other keys while the key itself stays locked.
 */
import { type Clock, systemClock, type Timer } from "@kcp-ts/machinery/base";
import {
  type Client,
  type KubernetesObject,
  onAbort,
  type Resource,
  startDeadline,
} from "../client/index.ts";
import { formatKey, type ObjectKey, type SharedInformerOptions } from "../informer/index.ts";
import { type MetricsRegistry, processMetrics } from "../metrics/index.ts";
import { type AddOptions, type RateLimiter, WorkQueue } from "../work-queue/index.ts";
import type { Change } from "./change.ts";
import type { Clusters } from "./clusters.ts";
import { type ControllerMetrics, controllerMetrics } from "./controller-metrics.ts";
import { enqueueSelf, type Mapping } from "./mapping.ts";
import type { Predicate } from "./predicates.ts";

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
  /** Called with failed reconciles, for a log. They are requeued. */
  readonly onError?: (error: unknown, key: ObjectKey) => void;
  readonly clock?: Clock;
}

export interface ReconcileContext {
  /** The client of the key's cluster. */
  readonly client: Client;
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
}

export interface RunOptions {
  /** Stop: start no new reconciles, finish those in flight. */
  readonly signal: AbortSignal;
  /** Abort all reconciles: leadership was lost. */
  readonly workSignal?: AbortSignal | undefined;
}

/** An error that a retry cannot resolve. */
export class TerminalError extends Error {
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

  constructor(options: ControllerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
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
    const { map = enqueueSelf, predicate, priority = 0, ...shared } = settings;
    const source = this.#options.clusters.source<Object, Cached>(resource, shared);
    const enqueue = (change: Change<Cached>, level: number) => {
      if (predicate !== undefined && !predicate(change)) return;
      for (const key of map(change.object, change.key)) this.enqueue(key, { priority: level });
      if (change.type !== "updated" || map === enqueueSelf) return;
      // The keys that the previous object mapped to may have to be reconciled, too.
      for (const key of map(change.previous, change.key)) this.enqueue(key, { priority: level });
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
      this.#abort.abort(workSignal?.reason);
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
    this.#abort.abort(new Error("the controller has stopped"));
    if (this.#queue.processing > 0) await wait(abandonAfterMs);
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
    const deadline = startDeadline({
      clock: this.#clock,
      timeoutMs: this.#options.timeoutMs ?? timeoutMsDefault,
      signal: this.#abort.signal,
      what: `reconciling ${formatKey(key)}`,
    });
    this.#metrics.activeWorkers.add(1);
    return new Promise((resolve, reject) => {
      let abandon: Timer | undefined;
      onAbort(deadline.signal, () => {
        if (!this.#abort.signal.aborted) this.#metrics.timeouts.increment();
        abandon = this.#clock.schedule(abandonAfterMs, resolve);
      });
      this.#reconcile(key, deadline.signal)
        .finally(() => {
          deadline.cancel();
          abandon?.cancel();
          this.#metrics.activeWorkers.add(-1);
        })
        .then(resolve, reject);
    });
  }

  async #reconcile(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const startedAtMs = this.#clock.monotonic();
    try {
      const { reconcile, clusters } = this.#options;
      const result = await reconcile(key, { client: clusters.client(key.cluster), signal });
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

  #fail(key: ObjectKey, error: unknown): void {
    this.#metrics.outcomes.error.increment();
    this.#metrics.errors.increment();
    this.#options.onError?.(error, key);
    if (
      error instanceof Error &&
      (error.name === "TerminalError" || error.name === "UnknownClusterError")
    ) {
      this.#metrics.terminalErrors.increment();
      this.#queue.forget(key);
    } else {
      this.#queue.addRateLimited(key);
    }
  }
}
