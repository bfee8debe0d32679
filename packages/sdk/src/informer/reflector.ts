/**
 * Reflector: executes the commands of the state machine in reflector-machine.ts (sync, watch, wait)
 * until its signal aborts. The ListerWatcher processes the objects.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import {
  type Connectivity,
  concernsConnection,
  isTransportError,
  onAbort,
  pause,
} from "../client/index.ts";
import type { ReflectorMetrics } from "../metrics/index.ts";
import { backoffMs, informerBackoff } from "./backoff.ts";
import { classifyFailure, WatchListUnsupportedError } from "./failure.ts";
import {
  type InformerCommand,
  type InformerEvent,
  type InformerState,
  initialStep,
  nextStep,
} from "./reflector-machine.ts";

/**
 * Lists and watches a resource. Each method throws on failure; the state machine decides on the
 * next step.
 */
export interface ListerWatcher {
  /** Fetches the complete state and returns its version. */
  list(options: ListStateOptions): Promise<string>;
  /**
   * Fetches the state by a watch that begins with it, calls `synced`, and follows the changes on
   * the same stream.
   */
  stream(options: WatchStreamOptions): Promise<void>;
  /** The number of objects that arrived since the last call. */
  takeCount(): number;
  /** Follows the changes after a version until the stream ends. */
  watch(options: WatchStreamOptions & { readonly resourceVersion: string }): Promise<void>;
}

export interface ListStateOptions {
  readonly signal: AbortSignal;
  readonly paged: boolean;
}

export interface WatchStreamOptions {
  readonly signal: AbortSignal;
  /** The server has accepted the watch. */
  readonly onOpened: () => void;
  readonly dispatch: (event: InformerEvent) => void;
}

export interface ReflectorOptions {
  readonly listerWatcher: ListerWatcher;
  readonly method: "stream" | "pages";
  readonly connectivity: Connectivity;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (error: unknown) => void;
  readonly metrics?: ReflectorMetrics | undefined;
}

export interface InformerHealth {
  readonly state: InformerState;
  readonly hasSynced: boolean;
  /**
   * Whether changes are delivered as they happen: a watch was accepted, and has not ended. A watch
   * that is being requested does not count.
   */
  readonly isWatching: boolean;
  /** The newest version up to which all changes have been processed. */
  readonly resourceVersion: string | undefined;
  readonly consecutiveFailures: number;
  readonly lastError: unknown;
}

export class Reflector {
  readonly #options: ReflectorOptions;
  #step;
  #lastError: unknown;
  #hasSynced = false;
  #isWatching = false;
  #syncWaiters: (() => void)[] = [];
  #resyncRequest = new AbortController();

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#step = initialStep(options.method);
    options.metrics?.lastResourceVersion.readBy(() => Number(this.#step.resourceVersion ?? 0));
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get health(): InformerHealth {
    const { state, resourceVersion, failures } = this.#step;
    return {
      state,
      hasSynced: this.#hasSynced,
      isWatching: this.#isWatching,
      resourceVersion,
      consecutiveFailures: failures,
      lastError: this.#lastError,
    };
  }

  /** Resolves when a complete state was known for the first time. */
  async synced(signal?: AbortSignal): Promise<void> {
    if (!this.#hasSynced) await this.#nextState(signal);
  }

  /** Resolves when a state is known that the server had after this call. */
  async refreshed(signal?: AbortSignal): Promise<void> {
    // A state that is under way may be older.
    if (this.#step.state !== "watching") await this.#nextState(signal);
    const next = this.#nextState(signal);
    this.resync();
    await next;
  }

  #nextState(signal: AbortSignal | undefined): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#syncWaiters.push(resolve);
      onAbort(signal, () => reject(signal?.reason));
    });
  }

  /** Invalidates the cached state: it is fetched again, and stays unchanged until then. */
  resync(): void {
    if (this.#step.state === "watching") this.#resyncRequest.abort();
  }

  /** Runs until the signal aborts, and resolves then; no failure ends it. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#dispatch({ type: "start" });
    while (!signal.aborted) {
      this.#dispatch(await this.#performUnlessResynced(this.#step.command, signal));
    }
    this.#dispatch({ type: "stop" });
  }

  async #performUnlessResynced(
    command: InformerCommand,
    signal: AbortSignal,
  ): Promise<InformerEvent> {
    const doubt = new AbortController();
    this.#resyncRequest = doubt;
    const forget = onAbort(signal, () => doubt.abort());
    const event = await this.#perform(command, doubt.signal);
    this.#isWatching = false;
    forget();
    if (signal.aborted) return { type: "stop" };
    if (!doubt.signal.aborted) return event;
    return { type: "failed", failure: { kind: "expired" }, healthy: true };
  }

  async #perform(command: InformerCommand, signal: AbortSignal): Promise<InformerEvent> {
    const startedAtMs = this.#options.clock.monotonic();
    const isHealthy = () => this.#options.clock.monotonic() - startedAtMs >= healthyMs;
    const dispatch = (event: InformerEvent) => this.#dispatch(event);
    try {
      switch (command.do) {
        case "nothing":
          return { type: "stop" };
        case "wait":
          await this.#wait(command, signal);
          return { type: "elapsed" };
        case "watch":
          await this.#measured("watch", () =>
            this.#options.listerWatcher.watch({
              signal,
              dispatch,
              resourceVersion: command.resourceVersion,
              onOpened: () => this.#trackWatching(),
            }),
          );
          return { type: "ended", healthy: isHealthy() };
        case "sync": {
          if (command.method === "stream") {
            await this.#stream(signal);
            return { type: "ended", healthy: isHealthy() };
          }
          const paged = command.method === "pages";
          const resourceVersion = await this.#measured("list", () =>
            this.#options.listerWatcher.list({ signal, paged }),
          );
          return { type: "synced", resourceVersion };
        }
      }
    } catch (error) {
      if (signal.aborted) return { type: "stop" };
      this.#lastError = error;
      const { report, connectivity } = this.#options;
      // A server that sends no first state is asked for pages: nothing is wrong.
      const isExpected = error instanceof WatchListUnsupportedError;
      if (!isExpected && (!concernsConnection(error) || connectivity.takeReport())) report(error);
      return { type: "failed", failure: classifyFailure(error), healthy: isHealthy() };
    }
  }

  /** One request that counts as a list until the state is complete, and as a watch from then on. */
  async #stream(signal: AbortSignal): Promise<void> {
    const { listerWatcher, clock } = this.#options;
    let startedAtMs = clock.monotonic();
    let isListing = true;
    const dispatch = (event: InformerEvent) => {
      if (event.type === "synced") {
        this.#observe("list", startedAtMs);
        startedAtMs = clock.monotonic();
        isListing = false;
      }
      this.#dispatch(event);
    };
    try {
      await listerWatcher.stream({ signal, dispatch, onOpened: () => this.#trackWatching() });
    } finally {
      this.#observe(isListing ? "list" : "watch", startedAtMs);
    }
  }

  #trackWatching(): void {
    this.#isWatching = true;
  }

  async #measured<Result>(what: "list" | "watch", work: () => Promise<Result>): Promise<Result> {
    const startedAtMs = this.#options.clock.monotonic();
    try {
      return await work();
    } finally {
      this.#observe(what, startedAtMs);
    }
  }

  #observe(what: "list" | "watch", startedAtMs: number): void {
    const { metrics, clock, listerWatcher } = this.#options;
    const items = listerWatcher.takeCount();
    if (metrics === undefined) return;
    const seconds = (clock.monotonic() - startedAtMs) / 1000;
    const isList = what === "list";
    (isList ? metrics.lists : metrics.watches).increment();
    (isList ? metrics.listSeconds : metrics.watchSeconds).observe(seconds);
    (isList ? metrics.itemsPerList : metrics.itemsPerWatch).observe(items);
    if (!isList && items === 0 && seconds < shortWatchSeconds) metrics.shortWatches.increment();
  }

  #wait({ failures, atLeastMs }: WaitCommand, signal: AbortSignal): Promise<void> {
    const { clock, random, connectivity } = this.#options;
    const waitMs = Math.max(atLeastMs, backoffMs(informerBackoff, failures, random));
    const isLost = isTransportError(this.#lastError);
    return isLost ? connectivity.pause(clock, waitMs, signal) : pause(clock, waitMs, signal);
  }

  #dispatch(event: InformerEvent): void {
    this.#step = nextStep(this.#step, event);
    if (event.type !== "synced") return;
    this.#lastError = undefined;
    this.#hasSynced = true;
    for (const wake of this.#syncWaiters) wake();
    this.#syncWaiters = [];
  }
}

type WaitCommand = Extract<InformerCommand, { readonly do: "wait" }>;

/** A watch without events that ends sooner is a sign of a problem. */
const shortWatchSeconds = 1;

/** A watch that lasted this long is a sign of a healthy server. */
const healthyMs = 10_000;
