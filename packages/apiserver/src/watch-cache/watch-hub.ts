/**
 * The hub: one feed from storage, any number of watchers.
 *
 *     storage.watch("") ──► ring of recent events ──► index by prefix ──► each watcher's bounded buffer
 *
 * A watcher is found by looking up the four prefixes of a changed key (resource, cluster, namespace, object), so a change costs
 * the watchers it concerns and not those it does not. A watcher that cannot keep up is ended, never allowed to hold memory.
 */
import { type Clock, type Supervisor, sleep } from "@kcp-ts/machinery/base";
import { changeBytes } from "../storage/feed.ts";
import {
  isStorageError,
  type Revision,
  revisionZero,
  type Storage,
  StorageError,
  type StorageKey,
} from "../storage/index.ts";
import { type GroupedWatcher, WatcherGroup } from "./crowd.ts";
import { FanOut } from "./fan-out.ts";
import { ClusterDeletions } from "./gone-clusters.ts";
import { HubEvent } from "./hub-event.ts";
import { clearMemoizedConcat } from "./joined.ts";

export interface HubListener {
  /** Called in revision order, in the turn in which the change reached the hub. */
  onEvent(event: HubEvent): void;
  /** Continuity is lost: nothing that comes later connects to what came before. */
  onLost(error: StorageError): void;
}

/** A client's watch: it may hear of a change a few turns later, and in the right order all the same. */
export interface HubWatcher extends GroupedWatcher {
  onLost(error: StorageError): void;
}

export interface HubSubscription {
  /** Whether there is something that the watcher has not been told yet. */
  readonly isBehind: boolean;
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
  /** What comes after an interruption does as well. */
  readonly mayBeInterrupted: boolean;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Changes the hub may be behind its storage before it is ended and starts anew. */
const feedBufferedMax = 100_000;
const restartDelayMs = 100;
/** Watches that begin further back read the store's history first. */
const ringEventsDefaultMax = 20_000;
const ringBytesDefaultMax = 8 << 20;

export class WatchHub {
  /** Where tables by logical cluster learn what they need not keep. */
  readonly gone = new ClusterDeletions(this);
  readonly #options: WatchHubOptions;
  readonly #stop = new AbortController();
  readonly #listeners = new Map<StorageKey, Set<HubListener>>();
  readonly #crowds = new Map<StorageKey, WatcherGroup>();
  readonly #fanOut = new FanOut();
  readonly #waiters: Waiter[] = [];
  #ring: HubEvent[] = [];
  #ringBytes = 0;
  #ringStart = revisionZero;
  #revision = revisionZero;
  #tidiedTo = revisionZero;
  #running: Promise<void> | undefined;
  #hasEndedWaits = false;
  /** Bytes of all changes ever seen: what size-based compaction goes by. */
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

  /** Every event up to here has been handed on. */
  get revision(): Revision {
    return this.#revision;
  }

  /** Events after this revision can be replayed from memory. */
  get ringStart(): Revision {
    return this.#ringStart;
  }

  /** Forgets the events that were there at the last call already: the store has them, if anybody asks so late. */
  tidy(): void {
    const tidiedTo = this.#tidiedTo;
    this.#dropWhile(({ revision }) => revision <= tidiedTo);
    this.#tidiedTo = this.#revision;
    this.gone.tidy();
    clearMemoizedConcat();
  }

  /** Forgets all events: the store has them. */
  forgetRing(): void {
    this.#dropWhile(() => true);
    clearMemoizedConcat();
  }

  /** Events that are held. */
  get ringSize(): number {
    return this.#ring.length;
  }

  /** Prefixes that somebody listens under. */
  get listenedPrefixes(): number {
    return this.#listeners.size;
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

  follow(prefix: StorageKey, watcher: HubWatcher): HubSubscription {
    let crowd = this.#crowds.get(prefix);
    if (crowd === undefined) {
      crowd = new WatcherGroup(this.#fanOut.logs);
      this.#crowds.set(prefix, crowd);
    }
    const joined = crowd;
    const place = joined.join(watcher);
    return {
      get isBehind() {
        return place.next < joined.end;
      },
      stop: () => {
        joined.leave(place);
        if (joined.places.size > 0 || this.#crowds.get(prefix) !== joined) return;
        this.#crowds.delete(prefix);
        this.#fanOut.forget(joined);
      },
    };
  }

  /** Recent events under a prefix after a revision that the ring still reaches. */
  *replay(prefix: StorageKey, afterRevision: Revision): Generator<HubEvent> {
    let low = 0;
    let high = this.#ring.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#ring[middle] as HubEvent).revision <= afterRevision) low = middle + 1;
      else high = middle;
    }
    const ring = this.#ring;
    for (let at = low; at < ring.length; at++) {
      const event = ring[at] as HubEvent;
      if (event.key.startsWith(prefix)) yield event;
    }
  }

  /**
   * Resolves when the hub has handed on everything up to `revision`: what was read at it, and what listeners heard since, are one state. Throws `compacted` when
   * the feed was interrupted on the way: then they are not, and it is to be read anew. The caller bounds the wait.
   */
  reach(revision: Revision, signal: AbortSignal): Promise<void> {
    return this.#wait(revision, signal, false);
  }

  /**
   * Resolves when nobody who asks the hub's listeners from now on is told anything older than `revision`: they have heard of it, or were told to begin anew behind it.
   * For whoever has read nothing himself.
   */
  seen(revision: Revision, signal: AbortSignal): Promise<void> {
    return this.#wait(revision, signal, true);
  }

  async #wait(revision: Revision, signal: AbortSignal, mayBeInterrupted: boolean): Promise<void> {
    if (this.#revision >= revision) return;
    signal.throwIfAborted();
    if (this.#hasEndedWaits) throw stopping();
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
   * Nobody waits for a revision any more. A store that has fallen silent would hold for ever whoever does, and with him the server that waits for its own loops
   * before it closes the hub.
   */
  endWaits(): void {
    this.#hasEndedWaits = true;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(stopping());
  }

  /** Whether the server stops: the failures of loops that waited for their own writes mean nothing else. */
  get isStopping(): boolean {
    return this.#hasEndedWaits;
  }

  async close(): Promise<void> {
    this.endWaits();
    this.#stop.abort(new StorageError("closed", "the hub was closed"));
    await this.#running;
    this.#lose(stopping());
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#follow();
      } catch (error) {
        if (signal.aborted) return;
        // `closed` is the store's end, and only the owner closes it.
        if (isStorageError(error, "closed")) return this.#lose(error);
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
    if (this.#listeners.size > 0 || this.#crowds.size > 0) {
      this.#tell(event);
      event.forgetEncoded();
    }
    this.#trim();
    this.#wake();
  }

  /** `/g/r/i/c/ns/name` is under `/g/r/`, `/g/r/i/`, `/g/r/i/c/`, `/g/r/i/c/ns/`, and is itself. */
  #tell(event: HubEvent): void {
    const { key } = event;
    let slashes = 0;
    for (let at = 0; at < key.length; at++) {
      if (key.charCodeAt(at) === 0x2f && ++slashes >= 3)
        this.#tellUnder(key.slice(0, at + 1) as StorageKey, event);
    }
    this.#tellUnder(key, event);
  }

  #tellUnder(prefix: StorageKey, event: HubEvent): void {
    const listeners = this.#listeners.get(prefix);
    if (listeners !== undefined) for (const listener of listeners) listener.onEvent(event);
    const crowd = this.#crowds.get(prefix);
    if (crowd !== undefined) this.#fanOut.tell(crowd, event);
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

  /** History was compacted under us or the store failed: listeners must start anew, from wherever the store is by then. */
  async #restart(cause: unknown): Promise<void> {
    const { storage, clock } = this.#options;
    const { signal } = this.#stop;
    const resumable = !isStorageError(cause, "compacted") && !isStorageError(cause, "overrun");
    while (!signal.aborted) {
      try {
        await sleep(clock, restartDelayMs, signal);
        const revision = await storage.currentRevision({ signal });
        if (resumable) return;
        this.#lose(
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

  #lose(error: StorageError): void {
    const all = [...this.#listeners.values()].flatMap((listeners) => [...listeners]);
    this.#listeners.clear();
    const crowds = [...this.#crowds.values()];
    this.#crowds.clear();
    for (const listener of all) listener.onLost(error);
    for (const crowd of crowds) {
      this.#fanOut.forget(crowd);
      for (const { member } of [...crowd.places]) (member as HubWatcher).onLost(error);
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
