/**
 * The hub: one feed from storage, any number of watchers.
 *
 *     storage.watch("") ──► ring of recent events ──► index by prefix ──► each watcher's bounded buffer
 *
 * Watchers are found by the four prefixes of a changed key (resource, cluster, namespace, object),
 * so an event costs work only for matching watchers. A watcher that cannot keep up is ended,
 * instead of holding memory.
 */
import { type Clock, type Supervisor, sleep } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { changeBytes } from "../storage/change-feed.ts";
import {
  clusterUnder,
  isStorageError,
  type Revision,
  revisionZero,
  type Storage,
  StorageError,
  type StorageKey,
} from "../storage/index.ts";
import { ClusterDeletions } from "./cluster-deletions.ts";
import { FanOut } from "./fan-out.ts";
import { HubEvent } from "./hub-event.ts";
import { clearMemoizedConcat } from "./memoized-concat.ts";
import { type GroupedWatcher, WatcherGroup } from "./watcher-group.ts";

export interface HubListener {
  /** Called in revision order, in the turn in which the event reached the hub. */
  onEvent(event: HubEvent): void;
  /** Called when continuity is lost: later events do not connect to earlier ones. */
  onLost(error: StorageError): void;
}

/** A client's watch: it may be notified of an event a few turns later, but in order. */
export interface HubWatcher extends GroupedWatcher {
  onLost(error: StorageError): void;
}

export interface HubSubscription {
  /** Whether the watcher has unsent events. */
  readonly isLagging: boolean;
  stop(): void;
}

export interface WatchHubOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  readonly onError: (error: unknown) => void;
  readonly ringEventsMax?: number;
  readonly ringBytesMax?: number;
}

interface Waiter {
  readonly revision: Revision;
  /** The wait also ends at events after an interruption. */
  readonly mayBeInterrupted: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The number of events that the hub may be behind its storage before the feed is ended and
 * restarted.
 */
const feedBufferedMax = 100_000;
const restartDelayMs = 100;
/** Watches that begin further back read the store's history first. */
const ringEventsDefaultMax = 20_000;
const ringBytesDefaultMax = 8 << 20;

export class WatchHub {
  /** Notifies tables with entries per logical cluster of deleted clusters. */
  readonly clusterDeletions = new ClusterDeletions(this);
  readonly #options: WatchHubOptions;
  readonly #stop = new AbortController();
  readonly #listeners = new Map<StorageKey, Set<HubListener>>();
  readonly #watcherGroups = new Map<StorageKey, WatcherGroup>();
  readonly #fanOut = new FanOut();
  readonly #waiters: Waiter[] = [];
  #ring: HubEvent[] = [];
  #ringBytes = 0;
  #ringStart = revisionZero;
  #revision = revisionZero;
  #trimmedTo = revisionZero;
  #running: Promise<void> | undefined;
  #hasCancelledWaits = false;
  /** The bytes of all events since the start: the measure of size-based compaction. */
  changedBytes = 0;

  constructor(options: WatchHubOptions) {
    this.#options = options;
  }

  /** Resolves when the feed is open; events flow until `close`. */
  async start(): Promise<void> {
    const { storage, supervisor } = this.#options;
    const { signal } = this.#stop;
    this.#reset(await storage.currentRevision({ signal }));
    this.#running = supervisor.runTask("watch-cache", signal, () => this.#run());
  }

  /** All events up to this revision have been delivered. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Events after this revision can be replayed from memory. */
  get ringStart(): Revision {
    return this.#ringStart;
  }

  /**
   * Drops the events that were in the ring at the last call already: the store has them for late
   * watches.
   */
  trimRing(): void {
    const tidiedTo = this.#trimmedTo;
    this.#dropWhile(({ revision }) => revision <= tidiedTo);
    this.#trimmedTo = this.#revision;
    this.clusterDeletions.repeatNotifications();
    clearMemoizedConcat();
  }

  /** Drops all events: the store has them. */
  clearRing(): void {
    this.#dropWhile(() => true);
    clearMemoizedConcat();
  }

  /** The number of events in the ring. */
  get ringSize(): number {
    return this.#ring.length;
  }

  listen(prefix: StorageKey, listener: HubListener): () => void {
    let listeners = this.#listeners.get(prefix);
    if (listeners === undefined) {
      listeners = new Set();
      this.#listeners.set(prefix, listeners);
    }
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(prefix) === listeners)
        this.#listeners.delete(prefix);
    };
  }

  subscribe(prefix: StorageKey, watcher: HubWatcher): HubSubscription {
    let watcherGroup = this.#watcherGroups.get(prefix);
    if (watcherGroup === undefined) {
      watcherGroup = new WatcherGroup(this.#fanOut.logSize);
      this.#watcherGroups.set(prefix, watcherGroup);
    }
    const joined = watcherGroup;
    const place = joined.add(watcher);
    return {
      get isLagging() {
        return place.next < joined.end;
      },
      stop: () => {
        joined.remove(place);
        if (joined.cursors.size > 0 || this.#watcherGroups.get(prefix) !== joined) return;
        this.#watcherGroups.delete(prefix);
        this.#fanOut.remove(joined);
      },
    };
  }

  /**
   * Whether the ring has all events under a prefix after a revision. Those of a cluster that came
   * from another store begin with its arrival.
   */
  covers(prefix: StorageKey, revision: Revision): boolean {
    const { moves } = this.#options.storage;
    const cluster = moves && clusterUnder(prefix);
    const arrivedAt = (cluster && moves.recordOf(cluster)?.arrivedAt) ?? 0;
    return revision >= this.#ringStart && revision >= arrivedAt;
  }

  /** Ends what listens to a cluster alone: it arrives, or it has left. */
  releaseCluster(cluster: ClusterName): void {
    const error = new StorageError("compacted", `the logical cluster ${cluster} has moved`);
    for (const [prefix, listeners] of this.#listeners) {
      if (clusterUnder(prefix) !== cluster) continue;
      this.#listeners.delete(prefix);
      for (const listener of listeners) listener.onLost(error);
    }
    this.clusterDeletions.release(cluster);
  }

  /** Recent events under a prefix after a revision that the ring still covers. */
  *replay(prefix: StorageKey, afterRevision: Revision): Generator<HubEvent> {
    let low = 0;
    let high = this.#ring.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ring[middle] as HubEvent).revision <= afterRevision) low = middle + 1;
      else high = middle;
    }
    const ring = this.#ring;
    const isOfOne = clusterUnder(prefix) !== undefined;
    for (let at = low; at < ring.length; at++) {
      const event = ring[at] as HubEvent;
      if (event.isRelocation && isOfOne) continue;
      if (event.key.startsWith(prefix)) yield event;
    }
  }

  /**
   * Resolves when the hub has delivered everything up to `revision`: a read at this revision and
   * the later events form one state. Throws `compacted` when the feed was interrupted meanwhile:
   * then they do not, and the caller has to read again. The caller bounds the wait.
   */
  waitForRevision(revision: Revision, signal: AbortSignal): Promise<void> {
    return this.#wait(revision, signal, false);
  }

  /**
   * Resolves when the hub's listeners have no state older than `revision`: they have seen it, or
   * were notified to restart after it. For callers that have read nothing themselves.
   */
  waitUntilSeen(revision: Revision, signal: AbortSignal): Promise<void> {
    return this.#wait(revision, signal, true);
  }

  async #wait(revision: Revision, signal: AbortSignal, mayBeInterrupted: boolean): Promise<void> {
    if (this.#revision >= revision) return;
    signal.throwIfAborted();
    if (this.#hasCancelledWaits) throw stopping();
    let onAbort: (() => void) | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const waiter = { revision, mayBeInterrupted, resolve, reject };
        this.#waiters.push(waiter);
        onAbort = () => {
          const at = this.#waiters.indexOf(waiter);
          if (at >= 0) this.#waiters.splice(at, 1);
          reject(signal.reason);
        };
        signal.addEventListener("abort", onAbort, { once: true });
        this.#options.storage.requestProgress?.();
      });
    } finally {
      if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
    }
  }

  /**
   * Ends all waits for revisions. A store without events would block them for ever, and with them
   * the server, which waits for its own controllers before it closes the hub.
   */
  cancelWaits(): void {
    this.#hasCancelledWaits = true;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(stopping());
  }

  /**
   * Whether the server stops: errors of controllers that waited for their own writes are expected
   * then.
   */
  get isStopping(): boolean {
    return this.#hasCancelledWaits;
  }

  async close(): Promise<void> {
    this.cancelWaits();
    this.#stop.abort(new StorageError("closed", "the hub was closed"));
    await this.#running;
    this.#notifyLost(stopping());
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#follow();
      } catch (error) {
        if (signal.aborted) return;
        // `closed` means that the owner has closed the store.
        if (isStorageError(error, "closed")) return this.#notifyLost(error);
        this.#options.onError(error);
        await this.#restart(error);
      }
    }
  }

  async #follow(): Promise<void> {
    const { storage } = this.#options;
    const options = { signal: this.#stop.signal, bufferedChangesMax: feedBufferedMax };
    for await (const change of storage.watch("" as StorageKey, this.#revision, options)) {
      if (change.kind === "progress") {
        this.#advance(change.revision);
        continue;
      }
      this.changedBytes += changeBytes(change);
      this.#publish(new HubEvent(change));
    }
  }

  #publish(event: HubEvent): void {
    this.#ring.push(event);
    this.#ringBytes += event.bytes;
    this.#revision = event.revision;
    if (this.#listeners.size > 0 || this.#watcherGroups.size > 0) {
      this.#dispatch(event);
      event.clearEncoded();
    }
    this.#trim();
    this.#wake();
  }

  /** `/g/r/i/c/ns/name` is under `/g/r/`, `/g/r/i/`, `/g/r/i/c/`, `/g/r/i/c/ns/`, and is itself. */
  #dispatch(event: HubEvent): void {
    const { key, isRelocation } = event;
    let slashes = 0;
    for (let at = 0; at < key.length; at++) {
      if (key.charCodeAt(at) === 0x2f && ++slashes >= 3)
        this.#dispatchUnder(key.slice(0, at + 1) as StorageKey, event);
      // Only watches over several clusters learn that an object arrived or left.
      if (isRelocation && slashes === 4) return;
    }
    this.#dispatchUnder(key, event);
  }

  #dispatchUnder(prefix: StorageKey, event: HubEvent): void {
    const listeners = this.#listeners.get(prefix);
    if (listeners !== undefined) for (const listener of listeners) listener.onEvent(event);
    const watcherGroup = this.#watcherGroups.get(prefix);
    if (watcherGroup !== undefined) this.#fanOut.publish(watcherGroup, event);
  }

  #advance(revision: Revision): void {
    if (revision > this.#revision) this.#revision = revision;
    this.#wake();
  }

  #wake(): void {
    if (this.#waiters.length === 0) return;
    const ready = this.#waiters.filter((waiter) => waiter.revision <= this.#revision);
    if (ready.length === 0) return;
    const waiting = this.#waiters.filter((waiter) => waiter.revision > this.#revision);
    this.#waiters.splice(0, this.#waiters.length, ...waiting);
    for (const waiter of ready) waiter.resolve();
  }

  #trim(): void {
    const eventsMax = this.#options.ringEventsMax ?? ringEventsDefaultMax;
    const bytesMax = this.#options.ringBytesMax ?? ringBytesDefaultMax;
    if (this.#ring.length <= eventsMax * 1.25 && this.#ringBytes <= bytesMax) return;
    this.#dropWhile((_, left) => left > eventsMax || this.#ringBytes > bytesMax * 0.75);
  }

  #dropWhile(isDropped: (event: HubEvent, left: number) => boolean): void {
    let drop = 0;
    for (const event of this.#ring) {
      if (!isDropped(event, this.#ring.length - drop)) break;
      drop++;
      this.#ringBytes -= event.bytes;
      this.#ringStart = event.revision;
    }
    if (drop > 0) this.#ring = this.#ring.slice(drop);
  }

  /**
   * History was compacted or the store failed: listeners must restart at the store's current
   * revision.
   */
  async #restart(cause: unknown): Promise<void> {
    const { storage, clock } = this.#options;
    const { signal } = this.#stop;
    const resumable = !isStorageError(cause, "compacted") && !isStorageError(cause, "overrun");
    while (!signal.aborted) {
      try {
        await sleep(clock, restartDelayMs, signal);
        const revision = await storage.currentRevision({ signal });
        if (resumable) return;
        this.#notifyLost(
          new StorageError("compacted", "the change feed was interrupted", {
            cause,
            oldest: revision,
          }),
        );
        this.#reset(revision);
        this.#wake();
        return;
      } catch (error) {
        if (!signal.aborted) this.#options.onError(error);
      }
    }
  }

  #notifyLost(error: StorageError): void {
    const all = [...this.#listeners.values()].flatMap((listeners) => [...listeners]);
    this.#listeners.clear();
    const watcherGroups = [...this.#watcherGroups.values()];
    this.#watcherGroups.clear();
    for (const listener of all) listener.onLost(error);
    for (const watcherGroup of watcherGroups) {
      this.#fanOut.remove(watcherGroup);
      for (const { watcher } of [...watcherGroup.cursors]) (watcher as HubWatcher).onLost(error);
    }
    const isOver = error.code === "closed";
    const staying = this.#waiters.filter(({ mayBeInterrupted }) => mayBeInterrupted && !isOver);
    const leaving = this.#waiters.filter((waiter) => !staying.includes(waiter));
    this.#waiters.splice(0, this.#waiters.length, ...staying);
    for (const waiter of leaving) waiter.reject(error);
  }

  #reset(revision: Revision): void {
    this.#ring = [];
    this.#ringBytes = 0;
    this.#ringStart = revision;
    this.#revision = revision;
  }
}

function stopping(): StorageError {
  return new StorageError("closed", "the server is stopping");
}
