/**
 * Informer: a local copy of one resource that stays true, and tells what changes.
 *
 * It carries out what the machine in informer-machine.ts decides: sync, watch, wait, again and again until its signal aborts. The
 * store is always a state that the server once had, and gets closer to its newest one.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Client,
  type KubernetesObject,
  onAbort,
  pause,
  type Resource,
  type SelectorOptions,
} from "../client/index.ts";
import { backoffMs, informerBackoff } from "./backoff.ts";
import { classifyFailure } from "./failure.ts";
import { Feed } from "./feed.ts";
import { type HandlerRegistration, Handlers, type InformerHandler } from "./handlers.ts";
import {
  type InformerCommand,
  type InformerEvent,
  type InformerState,
  initialStep,
  nextStep,
} from "./informer-machine.ts";
import { IndexedStore, type Indexers, type ObjectStore } from "./store.ts";

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
  /** Off: the state is fetched by pages even where the server could stream it. */
  readonly watchList?: boolean | undefined;
  readonly pageSize?: number | undefined;
  /** Errors of the way to the server and of handlers, for a log. The informer goes on. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/** One cluster, of which the client's requests speak anyway; or all logical clusters of a server. */
export type InformerScope = { readonly cluster: ClusterName } | "all-clusters";

export interface InformerHealth {
  readonly state: InformerState;
  readonly hasSynced: boolean;
  /** The newest version that the store is known to hold. */
  readonly resourceVersion: string | undefined;
  readonly failuresInARow: number;
  readonly lastError: unknown;
}

export class Informer<Object extends KubernetesObject, Cached = Object> {
  readonly resource: Resource<Object>;
  readonly #options: InformerOptions<Object, Cached>;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #store = new IndexedStore<Cached>();
  readonly #handlers: Handlers<Cached>;
  readonly #feed: Feed<Object, Cached>;
  #step;
  #lastError: unknown;
  #hasSynced = false;
  #syncWaiters: (() => void)[] = [];

  constructor(options: InformerOptions<Object, Cached>) {
    this.#options = options;
    this.resource = options.resource;
    this.#clock = options.clock ?? options.client.clock;
    this.#random = options.random ?? options.client.random;
    const report = (error: unknown) => options.onError?.(error);
    this.#handlers = new Handlers(report);
    this.#step = initialStep(options.watchList === false ? "pages" : "stream");
    if (options.indexers !== undefined) this.#store.addIndexers(options.indexers);
    this.#feed = new Feed({
      ...options,
      client: options.scope === "all-clusters" ? options.client.inCluster("*") : options.client,
      clock: this.#clock,
      random: this.#random,
      store: this.#store,
      handlers: this.#handlers,
      report,
    });
  }

  get store(): ObjectStore<Cached> {
    return this.#store;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  get health(): InformerHealth {
    const { state, resourceVersion, failures } = this.#step;
    return {
      state,
      hasSynced: this.#hasSynced,
      resourceVersion,
      failuresInARow: failures,
      lastError: this.#lastError,
    };
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
  async synced(signal?: AbortSignal): Promise<void> {
    if (this.#hasSynced) return;
    await new Promise<void>((resolve, reject) => {
      this.#syncWaiters.push(resolve);
      onAbort(signal, () => reject(signal?.reason));
    });
  }

  /** Works until the signal aborts, whatever happens, and resolves then. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    this.#dispatch({ type: "start" });
    while (!signal.aborted) {
      this.#dispatch(await this.#perform(this.#step.command, signal));
    }
    this.#dispatch({ type: "stop" });
  }

  async #perform(command: InformerCommand, signal: AbortSignal): Promise<InformerEvent> {
    const startedAtMs = this.#clock.monotonic();
    const isHealthy = () => this.#clock.monotonic() - startedAtMs >= healthyMs;
    const tell = (event: InformerEvent) => this.#dispatch(event);
    try {
      switch (command.do) {
        case "nothing":
          return { type: "stop" };
        case "wait":
          await this.#wait(command, signal);
          return { type: "elapsed" };
        case "watch":
          await this.#feed.watch({ signal, tell, resourceVersion: command.resourceVersion });
          return { type: "ended", healthy: isHealthy() };
        case "sync": {
          if (command.method === "stream") {
            await this.#feed.stream({ signal, tell });
            return { type: "ended", healthy: isHealthy() };
          }
          const paged = command.method === "pages";
          return { type: "synced", resourceVersion: await this.#feed.list({ signal, paged }) };
        }
      }
    } catch (error) {
      if (signal.aborted) return { type: "stop" };
      this.#lastError = error;
      this.#options.onError?.(error);
      return { type: "failed", failure: classifyFailure(error), healthy: isHealthy() };
    }
  }

  #wait({ failures, atLeastMs }: WaitCommand, signal: AbortSignal): Promise<void> {
    const delayMs = backoffMs(informerBackoff, failures, this.#random);
    return pause(this.#clock, Math.max(atLeastMs, delayMs), signal);
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

/** A watch that lived so long is a sign that all was well. */
const healthyMs = 10_000;
