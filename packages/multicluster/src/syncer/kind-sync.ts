/** The object loop of one kind: what it knows, how an object is brought in line, and a fuse of its own. */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type ObjectKey, onAbort } from "@kcp-ts/sdk";
import { CircuitBreaker } from "./circuit-breaker.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import { DownSync, type SyncResult } from "./down-sync.ts";
import type { DownstreamNamespaces } from "./downstream-namespaces.ts";
import { KindView } from "./kind-view.ts";
import type { KindPolicy } from "./policy.ts";
import type { Reporter } from "./reporter.ts";
import { type SyncError, syncErrorOf } from "./trouble.ts";
import { UpSync } from "./up-sync.ts";
import type { UpstreamInformers } from "./upstream-informers.ts";
import { isUpstreamError, UpstreamObjects } from "./upstream-objects.ts";

export interface KindSyncOptions {
  readonly context: SyncContext;
  readonly synced: SyncedResource;
  readonly policy: KindPolicy;
  readonly namespaces: DownstreamNamespaces;
  readonly upstreamInformers: UpstreamInformers;
  readonly sharedInformers?: UpstreamInformers | undefined;
  readonly reporter: Reporter;
  /** What is known of Jobs, if they are synced. */
  readonly jobs?: (() => KindView | undefined) | undefined;
  /** And of Services. */
  readonly services?: (() => KindView | undefined) | undefined;
  readonly onChange: (key: ObjectKey) => void;
}

export interface KindHealth {
  readonly hasSynced: boolean;
  /** Both sides tell of changes as they happen: what is known is not from before a connection broke. */
  readonly isLive: boolean;
  /** It is being looked at for the first time, and nothing speaks against it. */
  readonly isNew: boolean;
  /** The fuse is out: everything of this kind failed lately. */
  readonly isResting: boolean;
  /** Why nothing of this kind gets through, if so. */
  readonly trouble: SyncError | undefined;
}

/** Before both sides were seen, an object has nothing to be compared with. */
const notSyncedWaitMs = 1000;

export class KindSync {
  readonly synced: SyncedResource;
  readonly policy: KindPolicy;
  readonly view: KindView;
  readonly #options: KindSyncOptions;
  readonly #breaker: CircuitBreaker;
  readonly #loop: { sync(key: ObjectKey): Promise<SyncResult> };
  readonly #upstreamObjects: UpstreamObjects;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  /** Since both sides were last reached, objects have been put off. */
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
    const parts = { ...options, view: this.view, upstreamObjects: this.#upstreamObjects };
    const [up, down] = [new UpSync(parts), new DownSync(parts)];
    this.#loop = {
      sync: (key) => (this.view.comesUp(key) ? up.sync(key) : down.sync(key)),
    };
    this.#breaker = new CircuitBreaker(context);
  }

  /** Until it is stopped. */
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
    // Watches of the control plane end when a definition changes, and begin anew: no failure, and nothing of the cluster is missed.
    const isUpstreamLive =
      upstream.state === "watching" || (hasSynced && upstream.failuresInARow === 0);
    // One that ended in good order is asked for again at once; one that broke is none until it is accepted, however long that is tried.
    const isDownstreamLive =
      downstream.isFollowing ||
      (downstream.state === "watching" && downstream.failuresInARow === 0);
    const isLive = isUpstreamLive && isDownstreamLive;
    const isNew =
      !hasSynced && upstream.lastError === undefined && downstream.lastError === undefined;
    const isResting = this.#breaker.isOpen;
    const trouble = isResting ? this.#lastTrouble : this.#watchTrouble;
    return { hasSynced, isLive, isNew, isResting, trouble };
  }

  /** Of the watch in the cluster: a verb that is missing, a kind that is not served. */
  get #watchTrouble(): SyncError | undefined {
    const { state, lastError, failuresInARow } = this.view.health.downstream;
    // One failure is no news: watches end and begin anew.
    if (state === "watching" || lastError === undefined || failuresInARow < 2) return undefined;
    const { target } = this.#options.context;
    return syncErrorOf(lastError, { resource: this.synced.resource, target: target.name });
  }

  /** Throws what should be tried again later; troubles have been told by then. */
  async sync(key: ObjectKey): Promise<SyncResult> {
    if (this.#stop.signal.aborted) return {};
    if (!this.view.hasSynced) return { againAfterMs: notSyncedWaitMs };
    const waitMs = this.#breaker.waitMs();
    if (waitMs > 0) return { againAfterMs: waitMs };
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

  /** How long an object is put off was decided while a side was away: now that it is back, nothing waits for that. */
  #resumed(): void {
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#breaker.wayIsFree();
    this.view.requeue();
  }

  async #failed(key: ObjectKey, error: unknown): Promise<void> {
    const { context } = this.#options;
    const trouble = syncErrorOf(error, {
      resource: this.synced.resource,
      target: context.nameIn(key.cluster),
    });
    const isOfObject = trouble === undefined || trouble.scope === "object";
    if (isUpstreamError(error) ? trouble !== undefined : !isOfObject) this.#hasFailed = true;
    // A conflict is a race that the next look decides; what a tenant's logical cluster answers is its own affair.
    if (trouble === undefined || isUpstreamError(error)) {
      this.#breaker.wasInconclusive();
      return;
    }
    if (trouble.scope === "object") this.#breaker.succeeded();
    else this.#breaker.failed();
    this.#lastTrouble = trouble;
    if (trouble.scope !== "way") await this.#tell(key, trouble);
  }

  async #tell(key: ObjectKey, trouble: SyncError | undefined): Promise<void> {
    const upstream = this.view.upstreamObject(key);
    if (upstream === undefined) return;
    const told = {
      key,
      upstream,
      synced: this.synced,
      view: this.view,
      upstreamObjects: this.#upstreamObjects,
    };
    if (trouble === undefined) await this.#options.reporter.clear(told);
    else await this.#options.reporter.tell(told, trouble);
  }
}

/** Of no interest to a log: the next look finds out. */
export function isRace(error: unknown): boolean {
  return isStatusError(error) && (error.code === 409 || error.code === 404);
}
