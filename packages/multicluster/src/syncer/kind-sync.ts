/**
 * The object loop of one kind: its view of both sides, the sync of an object, and a circuit
 * breaker.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type ObjectKey, onAbort } from "@kcp-ts/sdk";
import type { SyncRules } from "../api/index.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import { DownSync, type SyncResult } from "./down-sync.ts";
import type { DownstreamNamespaces } from "./downstream-namespaces.ts";
import { KindView } from "./kind-view.ts";
import type { Reporter } from "./reporter.ts";
import { type SyncError, syncErrorOf } from "./sync-error.ts";
import { UpSync } from "./up-sync.ts";
import type { UpstreamInformers } from "./upstream-informers.ts";
import { isUpstreamError, UpstreamObjects } from "./upstream-objects.ts";

export interface KindSyncOptions {
  readonly context: SyncContext;
  readonly synced: SyncedResource;
  readonly policy: SyncRules;
  readonly namespaces: DownstreamNamespaces;
  readonly upstreamInformers: UpstreamInformers;
  readonly sharedInformers?: UpstreamInformers | undefined;
  readonly reporter: Reporter;
  /** The view of Jobs, if they are synced. */
  readonly jobs?: (() => KindView | undefined) | undefined;
  /** The view of Services, if they are synced. */
  readonly services?: (() => KindView | undefined) | undefined;
  readonly onChange: (key: ObjectKey) => void;
}

export interface KindHealth {
  readonly hasSynced: boolean;
  /** Both sides have a working watch: the caches do not predate a broken connection. */
  readonly isWatching: boolean;
  /** The kind is observed for the first time, and no error is known. */
  readonly isNew: boolean;
  /** The circuit breaker is open: all objects of this kind failed recently. */
  readonly isCircuitOpen: boolean;
  /** The error that blocks all objects of this kind. */
  readonly syncError: SyncError | undefined;
}

/** Before both sides are listed, an object cannot be compared. */
const notSyncedWaitMs = 1000;

export class KindSync {
  readonly synced: SyncedResource;
  readonly policy: SyncRules;
  readonly view: KindView;
  readonly #options: KindSyncOptions;
  readonly #breaker: CircuitBreaker;
  readonly #loop: { sync(key: ObjectKey): Promise<SyncResult> };
  readonly #upstreamObjects: UpstreamObjects;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  /** Objects were requeued with backoff since both sides were last reached. */
  #hasFailed = false;
  #lastTrouble: SyncError | undefined;

  constructor(options: KindSyncOptions) {
    this.#options = options;
    this.synced = options.synced;
    this.policy = options.policy;
    const { context } = options;
    onAbort(context.signal, () => this.#stop.abort());
    this.view = new KindView({
      ...options,
      signal: this.#stop.signal,
      onResumed: () => this.#resumed(),
    });
    this.#upstreamObjects = new UpstreamObjects(context, options.synced);
    const copies = { ...options, view: this.view, upstreamObjects: this.#upstreamObjects };
    const [up, down] = [new UpSync(copies), new DownSync(copies)];
    this.#loop = { sync: (key) => (this.view.isUpsynced(key) ? up.sync(key) : down.sync(key)) };
    this.#breaker = new CircuitBreaker(context);
  }

  /** Runs until it is stopped. */
  run(): Promise<void> {
    this.#running = this.view.run();
    return this.#running;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  get health(): KindHealth {
    const { hasSynced, health } = this.view;
    const { upstream, downstream } = health;
    // Watches of the control plane end when a definition changes, and are reopened: that is no
    // failure, and no event of the cluster is missed.
    const isUpstreamLive =
      upstream.state === "watching" || (hasSynced && upstream.consecutiveFailures === 0);
    // A watch that ended in good order is reopened immediately; a broken watch counts as broken
    // until the server accepts it again, however long that takes.
    const isDownstreamLive =
      downstream.isWatching ||
      (downstream.state === "watching" && downstream.consecutiveFailures === 0);
    const isWatching = isUpstreamLive && isDownstreamLive;
    const isNew =
      !hasSynced && upstream.lastError === undefined && downstream.lastError === undefined;
    const isCircuitOpen = this.#breaker.isOpen;
    const syncError = isCircuitOpen ? this.#lastTrouble : this.#watchTrouble;
    return { hasSynced, isWatching, isNew, isCircuitOpen, syncError };
  }

  /** The error of the watch in the cluster: a missing verb, or a kind that is not served. */
  get #watchTrouble(): SyncError | undefined {
    const { state, lastError, consecutiveFailures } = this.view.health.downstream;
    // A single failure is not reported: watches end and are reopened.
    if (state === "watching" || lastError === undefined || consecutiveFailures < 2)
      return undefined;
    const { target } = this.#options.context;
    return syncErrorOf(lastError, { resource: this.synced.resource, target: target.name });
  }

  /** Throws errors that are to be retried later; sync errors are reported before. */
  async sync(key: ObjectKey): Promise<SyncResult> {
    if (this.#stop.signal.aborted) return {};
    if (!this.view.hasSynced) return { requeueAfterMs: notSyncedWaitMs };
    const waitMs = this.#breaker.waitMs();
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    try {
      const result = await this.#loop.sync(key);
      this.#breaker.succeeded();
      this.#lastTrouble = undefined;
      await this.#tell(key, undefined);
      return result;
    } catch (error) {
      if (this.#stop.signal.aborted) return {};
      await this.#failed(key, error);
      throw error;
    }
  }

  /**
   * The backoff of an object was decided while a side was unreachable: when it is reachable again,
   * all objects are retried.
   */
  #resumed(): void {
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#breaker.allowProbe();
    this.view.requeue();
  }

  async #failed(key: ObjectKey, error: unknown): Promise<void> {
    const { context } = this.#options;
    const syncError = syncErrorOf(error, {
      resource: this.synced.resource,
      target: context.nameIn(key.cluster),
    });
    const isOfObject = syncError === undefined || syncError.scope === "object";
    if (isUpstreamError(error) ? syncError !== undefined : !isOfObject) this.#hasFailed = true;
    // A conflict is a race that the next sync resolves; errors of a tenant's logical cluster
    // concern only that tenant.
    if (syncError === undefined || isUpstreamError(error)) {
      this.#breaker.releaseProbe();
      return;
    }
    if (syncError.scope === "object") this.#breaker.succeeded();
    else this.#breaker.failed();
    this.#lastTrouble = syncError;
    if (syncError.scope !== "connection") await this.#tell(key, syncError);
  }

  async #tell(key: ObjectKey, syncError: SyncError | undefined): Promise<void> {
    const upstream = this.view.upstreamObject(key);
    if (upstream === undefined) return;
    const told = {
      key,
      upstream,
      synced: this.synced,
      view: this.view,
      upstreamObjects: this.#upstreamObjects,
    };
    if (syncError === undefined) await this.#options.reporter.clear(told);
    else await this.#options.reporter.report(told, syncError);
  }
}

/** Such an error is not logged: the next sync resolves it. */
export function isRace(error: unknown): boolean {
  return isStatusError(error) && (error.code === 409 || error.code === 404);
}
