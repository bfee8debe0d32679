/**
 * Carries out what the machine in informer-machine.ts decides: sync, watch, wait, again and again until its signal aborts. What is done with what
 * comes is the feed's business.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { onAbort, pause } from "../client/index.ts";
import type { ReflectorMetrics } from "../metrics/index.ts";
import { backoffMs, informerBackoff } from "./backoff.ts";
import { classifyFailure } from "./failure.ts";
import {
  type InformerCommand,
  type InformerEvent,
  type InformerState,
  initialStep,
  nextStep,
} from "./informer-machine.ts";

/** Fetches and follows a resource. Each method throws when it cannot go on; what to do then is not its to decide. */
export interface ListerWatcher {
  /** Fetches the whole state and returns its version. */
  list(options: ListStateOptions): Promise<string>;
  /** Fetches the state by a watch that begins with it, tells `synced`, and follows the changes on the same stream. */
  stream(options: WatchStreamOptions): Promise<void>;
  /** How many objects came since it was last asked. */
  takeCount(): number;
  /** Follows the changes behind a version until the stream ends. */
  watch(options: WatchStreamOptions & { readonly resourceVersion: string }): Promise<void>;
}

export interface ListStateOptions {
  readonly signal: AbortSignal;
  readonly paged: boolean;
}

export interface WatchStreamOptions {
  readonly signal: AbortSignal;
  /** The server has accepted to tell of changes. */
  readonly opened: () => void;
  readonly tell: (event: InformerEvent) => void;
}

export interface ReflectorOptions {
  readonly feed: ListerWatcher;
  readonly method: "stream" | "pages";
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (error: unknown) => void;
  readonly metrics?: ReflectorMetrics | undefined;
}

export interface InformerHealth {
  readonly state: InformerState;
  readonly hasSynced: boolean;
  /** Changes are told as they happen: a watch was accepted, and has not ended. One that is being asked for is none yet. */
  readonly isFollowing: boolean;
  /** The newest version of which everything is known. */
  readonly resourceVersion: string | undefined;
  readonly failuresInARow: number;
  readonly lastError: unknown;
}

export class Reflector {
  readonly #options: ReflectorOptions;
  #step;
  #lastError: unknown;
  #hasSynced = false;
  #isFollowing = false;
  #syncWaiters: (() => void)[] = [];
  #doubt = new AbortController();

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
      isFollowing: this.#isFollowing,
      resourceVersion,
      failuresInARow: failures,
      lastError: this.#lastError,
    };
  }

  /** Resolves when a whole state was known for the first time. */
  async synced(signal?: AbortSignal): Promise<void> {
    if (this.#hasSynced) return;
    await new Promise<void>((resolve, reject) => {
      this.#syncWaiters.push(resolve);
      onAbort(signal, () => reject(signal?.reason));
    });
  }

  /** What is known is not to be trusted: it is fetched anew, and stays what it is until then. */
  resync(): void {
    if (this.#step.state === "watching") this.#doubt.abort();
  }

  /** Works until the signal aborts, whatever happens, and resolves then. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#dispatch({ type: "start" });
    while (!signal.aborted) {
      this.#dispatch(await this.#performUnlessDoubted(this.#step.command, signal));
    }
    this.#dispatch({ type: "stop" });
  }

  async #performUnlessDoubted(
    command: InformerCommand,
    signal: AbortSignal,
  ): Promise<InformerEvent> {
    const doubt = new AbortController();
    this.#doubt = doubt;
    const forget = onAbort(signal, () => doubt.abort());
    const event = await this.#perform(command, doubt.signal);
    this.#isFollowing = false;
    forget();
    if (signal.aborted) return { type: "stop" };
    if (!doubt.signal.aborted) return event;
    return { type: "failed", failure: { kind: "expired" }, healthy: true };
  }

  async #perform(command: InformerCommand, signal: AbortSignal): Promise<InformerEvent> {
    const startedAtMs = this.#options.clock.monotonic();
    const isHealthy = () => this.#options.clock.monotonic() - startedAtMs >= healthyMs;
    const tell = (event: InformerEvent) => this.#dispatch(event);
    try {
      switch (command.do) {
        case "nothing":
          return { type: "stop" };
        case "wait":
          await this.#wait(command, signal);
          return { type: "elapsed" };
        case "watch":
          await this.#measured("watch", () =>
            this.#options.feed.watch({
              ...{ signal, tell, resourceVersion: command.resourceVersion },
              opened: () => this.#follows(),
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
            this.#options.feed.list({ signal, paged }),
          );
          return { type: "synced", resourceVersion };
        }
      }
    } catch (error) {
      if (signal.aborted) return { type: "stop" };
      this.#lastError = error;
      this.#options.report(error);
      return { type: "failed", failure: classifyFailure(error), healthy: isHealthy() };
    }
  }

  /** One request that is a list until it has told the state, and a watch from then on. */
  async #stream(signal: AbortSignal): Promise<void> {
    const { feed, clock } = this.#options;
    let startedAtMs = clock.monotonic();
    let isListing = true;
    const tell = (event: InformerEvent) => {
      if (event.type === "synced") {
        this.#observe("list", startedAtMs);
        startedAtMs = clock.monotonic();
        isListing = false;
      }
      this.#dispatch(event);
    };
    try {
      await feed.stream({ signal, tell, opened: () => this.#follows() });
    } finally {
      this.#observe(isListing ? "list" : "watch", startedAtMs);
    }
  }

  #follows(): void {
    this.#isFollowing = true;
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
    const { metrics, clock, feed } = this.#options;
    const items = feed.takeCount();
    if (metrics === undefined) return;
    const seconds = (clock.monotonic() - startedAtMs) / 1000;
    const isList = what === "list";
    (isList ? metrics.lists : metrics.watches).increment();
    (isList ? metrics.listSeconds : metrics.watchSeconds).observe(seconds);
    (isList ? metrics.itemsPerList : metrics.itemsPerWatch).observe(items);
    if (!isList && items === 0 && seconds < shortWatchSeconds) metrics.shortWatches.increment();
  }

  #wait({ failures, atLeastMs }: WaitCommand, signal: AbortSignal): Promise<void> {
    const delayMs = backoffMs(informerBackoff, failures, this.#options.random);
    return pause(this.#options.clock, Math.max(atLeastMs, delayMs), signal);
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

/** A watch that ends sooner, with nothing told, is a sign that something is not. */
const shortWatchSeconds = 1;

/** A watch that lived so long is a sign that all was well. */
const healthyMs = 10_000;
