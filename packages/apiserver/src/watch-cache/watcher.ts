/**
 * One open watch: its unsent events, and its position in history.
 *
 *     initial objects ──► history that only storage has ──► the hub's ring ──► live events
 *
 * Every step hands over at a revision; an event at or before the last one sent is never sent again.
 * The queue is bounded: a watch whose client cannot keep up is ended, and the client resumes from
 * its last resourceVersion.
 */
import {
  type Clock,
  isResumable,
  type Resumable,
  runInTurn,
  runSyncFirst,
  runYielding,
} from "@kcp-ts/machinery/base";
import type { CallbackBody, ObservableBody } from "../request/api-request.ts";
import { ChunkIterator } from "../request/chunk-iterator.ts";
import type { Entry, Revision, Storage, StorageKey } from "../storage/index.ts";
import { StorageError } from "../storage/index.ts";
import type { EventRange } from "./event-range.ts";
import {
  type EventEncoding,
  type EventType,
  encodeFrame,
  eventTypeFor,
  HubEvent,
  type Selection,
} from "./hub-event.ts";
import { initialFrame } from "./initial-frames.ts";
import { memoizedConcat } from "./memoized-concat.ts";
import type { ListResult } from "./object-reader.ts";
import type { UnreadAccount } from "./unread-budget.ts";
import type { HubSubscription, HubWatcher, WatchHub } from "./watch-hub.ts";

export interface WatchRequest {
  readonly prefix: StorageKey;
  readonly selection: Selection | undefined;
  readonly encoding: EventEncoding;
  /**
   * The initial objects, as ADDED events; undefined to begin with the events after `afterRevision`.
   */
  readonly initial: ListResult | undefined;
  readonly afterRevision: Revision;
  /** Encodes a BOOKMARK object; undefined when the client did not request bookmarks. */
  readonly bookmark: ((revision: Revision, isInitialEventsEnd: boolean) => Buffer) | undefined;
  /** Encodes the object of an ERROR event. */
  readonly errorObject: (error: unknown) => Buffer;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Counts the memory that the client has not read. */
  readonly unread: UnreadAccount;
  /** Bytes in the queue, if the reader does more than to pass them on. */
  readonly bufferedBytesMax?: number;
}

export interface WatcherContext {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
}

export const watcherLimits = {
  /** Events in the queue of one client. */
  bufferedEventsMax: 4096,
  /** Bytes in the queue of one client. */
  bufferedBytesMax: 16 << 20,
  /** Bytes are handed to the socket in chunks of about this size, or of one event. */
  chunkBytes: 64 << 10,
} as const;

interface UnencodedEvent {
  readonly event: HubEvent;
  readonly type: EventType;
  readonly form: EventEncoding;
}

type Notes = Parameters<ObservableBody["observe"]>[0];

/**
 * Has one reader: it reads the initial chunks, and calls `read` on each callback from then on. No
 * generator is in between: an event goes from the hub to the reader and leaves no garbage behind.
 */
export class Watcher implements HubWatcher, ObservableBody, CallbackBody {
  readonly #request: WatchRequest;
  readonly #context: WatcherContext;
  /** Set only while the watch reads history. */
  #stop: AbortController | undefined;
  /** The first queued event; most of the time there is no second one. */
  #first: Buffer | undefined;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  /** Live events in a form that takes several turns of the event loop, and what came after them. */
  #unencoded: UnencodedEvent[] = [];
  #unencodedBytes = 0;
  #lastRevision: Revision;
  #isFirst = true;
  /** Set while the watch gets live events. */
  #live: HubSubscription | undefined;
  /** A tick came while events were pending: the bookmark is sent after them. */
  #isBookmarkDue = false;
  #end: { error?: unknown } | undefined;
  #isEvicted = false;
  /** Called when there is a chunk to read, or the end. */
  #onReady: (() => void) | undefined;
  /** Made when the reader asks for them. */
  #initialChunks: AsyncGenerator<Uint8Array, undefined> | undefined;
  #stage: "new" | "beginning" | "live" | "over" = "new";
  #timer: { cancel(): void } | undefined;
  readonly #observers: Notes[] = [];

  constructor(request: WatchRequest, context: WatcherContext) {
    this.#request = request;
    this.#context = context;
    this.#lastRevision = request.initial?.revision ?? request.afterRevision;
    request.unread.onEvict = () => this.#evict();
  }

  onEvent(event: HubEvent): void {
    this.#deliver(event);
  }

  onEventRange(range: EventRange): number {
    const { selection, encoding } = this.#request;
    const isPlain =
      selection === undefined && !this.#isFirst && encoding.encodeResumable === undefined;
    if (isPlain && range.first.revision > this.#lastRevision) {
      this.#lastRevision = range.last.revision;
      return this.#push(range.encoded(this.#nextEncoding()));
    }
    return range.events.reduce((bytes, event) => bytes + this.#deliver(event), 0);
  }

  /** Returns the number of bytes. */
  #deliver(event: HubEvent): number {
    if (event.revision <= this.#lastRevision) return 0;
    this.#lastRevision = event.revision;
    const type = eventTypeFor(event, this.#request.selection);
    if (type === undefined) return 0;
    const form = this.#nextEncoding();
    if (this.#unencoded.length > 0) return this.#encodeLater({ event, type, form });
    const encoded = event.tryEncodeShared(type, form);
    return encoded === undefined ? this.#encodeLater({ event, type, form }) : this.#push(encoded);
  }

  /** Keeps the order: what comes after an event that takes several turns waits for it. */
  #encodeLater(waiting: UnencodedEvent): number {
    if (this.#end !== undefined) return 0;
    this.#unencoded.push(waiting);
    this.#unencodedBytes += waiting.event.bytes;
    if (this.#unencodedBytes > this.#bufferedBytesMax) this.#evict();
    else if (this.#unencoded.length === 1) void this.#encodeWaiting();
    return 0;
  }

  async #encodeWaiting(): Promise<void> {
    for (;;) {
      const [next] = this.#unencoded;
      if (next === undefined) break;
      const { event, type, form } = next;
      try {
        const encoded = await event.encodeSharedLater(type, form);
        if (this.#isOver) return;
        this.#push(encoded);
      } catch (error) {
        this.#finish({ error });
      }
      if (this.#isOver) return;
      this.#unencoded.shift();
      this.#unencodedBytes -= event.bytes;
    }
    if (this.#isBookmarkDue) this.onTick();
  }

  get #bufferedBytesMax(): number {
    return this.#request.bufferedBytesMax ?? watcherLimits.bufferedBytesMax;
  }

  get #isOver(): boolean {
    return this.#end !== undefined || this.#stage === "over";
  }

  get isBackpressured(): boolean {
    return this.#first !== undefined || this.#unencoded.length > 0;
  }

  onLost(error: StorageError): void {
    this.#finish(error.code === "closed" ? {} : { error });
  }

  onFellBehind(): void {
    this.#finish({});
  }

  /** Sends a bookmark to an idle client; called by the owner's one timer. */
  onTick(): void {
    if (this.#request.bookmark === undefined) return;
    // A bookmark promises that every event before it was sent.
    this.#isBookmarkDue = this.#live === undefined || this.#unencoded.length > 0;
    if (this.#live === undefined || this.#isBookmarkDue) return;
    // In a group the hub may be ahead of the events that this client was sent, and behind the
    // initial state of the watch, which came from the store.
    const { revision: reached } = this.#context.hub;
    const last = this.#lastRevision;
    const revision = this.#live.isLagging || reached < last ? last : reached;
    this.#push(encodeFrame("BOOKMARK", this.#request.bookmark(revision, false)));
  }

  /** Ends the stream without an error, as a stopping server does. */
  end(): void {
    this.#finish({});
  }

  observe(notes: Notes): void {
    this.#observers.push(notes);
  }

  [Symbol.asyncIterator](): ChunkIterator {
    return new ChunkIterator(this);
  }

  async cancel(): Promise<void> {
    this.#finish({});
    if (this.#stage === "beginning") await this.#initialChunks?.return(undefined);
    this.#conclude();
  }

  initialChunks(): AsyncGenerator<Uint8Array, undefined> {
    this.#initialChunks ??= this.#readInitialChunks();
    return this.#initialChunks;
  }

  onReadable(onReady: () => void): void {
    this.#onReady = onReady;
  }

  get readableBytes(): number {
    const hasEnd = this.#end !== undefined || this.#stage === "over";
    return this.#pendingBytes === 0 && hasEnd ? 1 : this.#pendingBytes;
  }

  read(): Uint8Array | "over" | undefined {
    if (this.#stage === "over") return "over";
    if (this.#first !== undefined) return this.#takePending(this.#first);
    if (this.#end === undefined) return undefined;
    const { error } = this.#end;
    if (error !== undefined) return this.#failed(error);
    this.#conclude();
    return "over";
  }

  #begin(): void {
    const { signal, timeoutMs } = this.#request;
    this.#stage = "beginning";
    this.#timer = this.#context.clock.schedule(timeoutMs, () => {
      this.onTick();
      this.#finish({});
    });
    // The client may have disconnected before the first read.
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
    for (const { onBegin } of this.#observers) onBegin?.();
  }

  readonly #onAbort = () => this.#finish({});

  async *#readInitialChunks(): AsyncGenerator<Uint8Array, undefined> {
    if (this.#stage !== "new") return;
    this.#begin();
    try {
      yield* this.#catchUp();
      // The reader cancelled the watch meanwhile.
      if ((this.#stage as string) === "over") return;
      this.#subscribe();
      this.#stage = "live";
      this.#initialChunks = undefined;
    } catch (error) {
      const failure = this.#failed(error);
      if (failure !== "over") yield failure;
    }
  }

  async *#catchUp(): AsyncGenerator<Uint8Array, undefined> {
    yield* this.#sendInitial();
    // The hub may have dropped events that were still unsent: then they are read as history as
    // well.
    do yield* this.#sendHistory();
    while (!(yield* this.#sendFromRing()));
  }

  /** The ERROR event after a failure. */
  #failed(error: unknown): Uint8Array | "over" {
    this.#conclude();
    const { signal, errorObject } = this.#request;
    return signal.aborted ? "over" : encodeFrame("ERROR", errorObject(error));
  }

  #conclude(): void {
    const before = this.#stage;
    this.#stage = "over";
    this.#drop();
    if (before === "new") for (const { onUnread } of this.#observers) onUnread?.();
    if (before !== "beginning" && before !== "live") return;
    this.#live?.stop();
    this.#timer?.cancel();
    this.#request.signal.removeEventListener("abort", this.#onAbort);
    for (const { onEnd } of this.#observers) onEnd();
  }

  async *#sendInitial(): AsyncGenerator<Uint8Array> {
    const { initial, bookmark } = this.#request;
    if (initial === undefined) return;
    if (!(Symbol.asyncIterator in initial.entries)) yield* this.#encodeInitial(initial.entries);
    else for await (const page of initial.entries) yield* this.#sendPage(page);
    if (bookmark !== undefined && this.#end === undefined)
      yield encodeFrame("BOOKMARK", bookmark(initial.revision, true));
  }

  /** Objects that were read for this watch alone are held by its account until they are sent. */
  async *#sendPage(page: readonly Entry[]): AsyncGenerator<Uint8Array> {
    const { unread } = this.#request;
    const bytes = page.reduce((sum, { value }) => sum + value.length, 0);
    unread.holdCopy(bytes);
    try {
      yield* this.#encodeInitial(page);
    } finally {
      unread.releaseCopy(bytes);
    }
  }

  async *#encodeInitial(entries: readonly Entry[]): AsyncGenerator<Uint8Array> {
    let chunk: Buffer[] = [];
    let bytes = 0;
    for (const entry of entries) {
      if (this.#isEvicted) return;
      const made = initialFrame(entry, this.#nextEncoding());
      const framed = isResumable(made) ? await runSyncFirst(made) : made;
      chunk.push(framed);
      bytes += framed.length;
      if (bytes < watcherLimits.chunkBytes) continue;
      yield concatChunks(chunk);
      chunk = [];
      bytes = 0;
    }
    if (chunk.length > 0) yield concatChunks(chunk);
  }

  /** Events that the hub no longer has come from storage, until both meet. */
  async *#sendHistory(): AsyncGenerator<Uint8Array> {
    const { storage, hub } = this.#context;
    const { prefix, selection } = this.#request;
    if (this.#end !== undefined || hub.covers(prefix, this.#lastRevision)) return;
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    const bufferedChangesMax = watcherLimits.bufferedEventsMax;
    for await (const change of storage.watch(prefix, this.#lastRevision, {
      signal,
      bufferedChangesMax,
    })) {
      if (this.#end !== undefined) return;
      if (change.kind !== "progress") {
        const event = new HubEvent(change);
        const type = eventTypeFor(event, selection);
        if (type !== undefined) {
          const made = event.encodeAlone(type, this.#nextEncoding());
          yield isResumable(made) ? await runSyncFirst(made) : made;
        }
      }
      if (change.revision > this.#lastRevision) this.#lastRevision = change.revision;
      if (hub.covers(prefix, this.#lastRevision)) return;
    }
  }

  /**
   * Sends the events of the ring with backpressure: a long history does not count towards the
   * client's queue. Returns true when the watch has nearly all events of the hub, or has ended;
   * false when the ring no longer covers its position.
   */
  async *#sendFromRing(): AsyncGenerator<Uint8Array, boolean> {
    while (this.#end === undefined) {
      if (!this.#context.hub.covers(this.#request.prefix, this.#lastRevision)) return false;
      const chunk = await this.#readRing();
      if (chunk.length === 0) return true;
      yield concatChunks(chunk);
    }
    return true;
  }

  async #readRing(): Promise<Buffer[]> {
    const { hub } = this.#context;
    const { prefix, selection } = this.#request;
    const chunk: Buffer[] = [];
    let bytes = 0;
    for (const event of hub.replay(prefix, this.#lastRevision)) {
      this.#lastRevision = event.revision;
      const type = eventTypeFor(event, selection);
      if (type === undefined) continue;
      const made = event.encodeAlone(type, this.#nextEncoding());
      const done = isResumable(made) ? runInTurn(made) : { value: made };
      if (done === undefined) {
        // The ring moves on meanwhile: what follows is read anew.
        chunk.push(await runYielding(made as Resumable<Buffer>));
        break;
      }
      chunk.push(done.value);
      bytes += done.value.length;
      if (bytes >= watcherLimits.chunkBytes) break;
    }
    return chunk;
  }

  /**
   * Generators take a few turns to hand over: events of these turns are taken from the ring in the
   * same turn in which listening begins.
   */
  #subscribe(): void {
    const { hub } = this.#context;
    const { prefix } = this.#request;
    this.#checkReach();
    this.#live = hub.subscribe(prefix, this);
    for (const event of hub.replay(prefix, this.#lastRevision)) {
      this.onEvent(event);
      event.clearEncoded();
    }
    if (this.#isBookmarkDue) this.onTick();
  }

  #checkReach(): void {
    const { hub } = this.#context;
    if (hub.covers(this.#request.prefix, this.#lastRevision)) return;
    throw new StorageError("compacted", "the watch fell behind the history that is kept", {
      oldest: hub.ringStart,
    });
  }

  /**
   * As many events as fit into a chunk. Watchers share events, and those with the same lag share
   * chunks.
   */
  #takePending(first: Buffer): Buffer {
    const { unread } = this.#request;
    if (this.#pending.length === 0) {
      this.#first = undefined;
      this.#pendingBytes = 0;
      unread.release(first);
      return first;
    }
    let [count, bytes] = [0, first.length];
    while (count < this.#pending.length && bytes < watcherLimits.chunkBytes) {
      bytes += (this.#pending[count++] as Buffer).length;
    }
    const taken = [first, ...this.#pending.splice(0, count)];
    this.#first = this.#pending.shift();
    this.#pendingBytes -= bytes;
    for (const each of taken) unread.release(each);
    return taken.length === 1 ? first : memoizedConcat(taken);
  }

  #drop(): void {
    const { unread } = this.#request;
    if (this.#first !== undefined) unread.release(this.#first);
    for (const each of this.#pending) unread.release(each);
    this.#first = undefined;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#unencoded = [];
    this.#unencodedBytes = 0;
  }

  /** Some encodings have more in the first event than in later ones: a table has its columns. */
  #nextEncoding(): EventEncoding {
    const { encoding } = this.#request;
    if (!this.#isFirst) return encoding;
    this.#isFirst = false;
    return encoding.first ?? encoding;
  }

  #push(bytes: Buffer): number {
    if (this.#end !== undefined) return 0;
    if (this.#first === undefined) this.#first = bytes;
    else this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    this.#request.unread.hold(bytes);
    if (
      this.#pending.length >= watcherLimits.bufferedEventsMax ||
      this.#pendingBytes > this.#bufferedBytesMax
    ) {
      this.#evict();
      return 0;
    }
    // Accounting for the event may have evicted this watch.
    if (this.#isEvicted) return 0;
    this.#onReady?.();
    return bytes.length;
  }

  /** The client is too slow: its queue is dropped, and the client relists. */
  #evict(): void {
    this.#isEvicted = true;
    this.#drop();
    this.#finish({});
  }

  #finish(end: { error?: unknown }): void {
    this.#end ??= end;
    this.#stop?.abort();
    this.#onReady?.();
  }
}

/** A single event needs no copy. */
function concatChunks(chunk: readonly Buffer[]): Buffer {
  return chunk.length === 1 ? (chunk[0] as Buffer) : Buffer.concat(chunk);
}
