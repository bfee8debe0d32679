/**
 * One open watch: what it has not yet sent, and where it is in history.
 *
 *     initial objects ──► history that only storage has ──► the hub's ring ──► live events
 *
 * Every step hands over at a revision; an event at or before the last one sent is never sent again. What waits to be sent is
 * bounded: a client that cannot keep up is ended and resumes from its last resourceVersion.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { CallbackBody, ObservableBody } from "../request/api-request.ts";
import type { Entry, Revision, Storage, StorageKey } from "../storage/index.ts";
import { StorageError } from "../storage/index.ts";
import {
  type EventEncoding,
  encodeFrame,
  eventTypeFor,
  HubEvent,
  type Selection,
} from "./hub-event.ts";
import { initialFrame } from "./initial-frames.ts";
import { memoizedConcat } from "./joined.ts";
import type { ListResult } from "./object-reader.ts";
import type { EventRange } from "./run.ts";
import type { UnreadAccount } from "./unread-budget.ts";
import type { HubSubscription, HubWatcher, WatchHub } from "./watch-hub.ts";

export interface WatchRequest {
  readonly prefix: StorageKey;
  readonly selection: Selection | undefined;
  readonly form: EventEncoding;
  /** Objects to begin with, as ADDED events; undefined to begin with what happened after `afterRevision`. */
  readonly initial: ListResult | undefined;
  readonly afterRevision: Revision;
  /** Makes a BOOKMARK object; undefined when the client did not ask for bookmarks. */
  readonly bookmark: ((revision: Revision, isInitialEventsEnd: boolean) => Buffer) | undefined;
  /** Makes the object of an ERROR event. */
  readonly errorObject: (error: unknown) => Buffer;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Where it is counted what the client has not read. */
  readonly unread: UnreadAccount;
}

export interface WatcherContext {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
}

export const watcherLimits = {
  /** Events that may wait to be sent to one client. */
  bufferedEventsMax: 4096,
  /** Bytes that may wait to be sent to one client. */
  bufferedBytesMax: 16 << 20,
  /** Bytes are handed to the socket in chunks of about this size, or of one event. */
  chunkBytes: 64 << 10,
} as const;

type Chunk = IteratorResult<Uint8Array, undefined>;
type Notes = Parameters<ObservableBody["note"]>[0];

const over: Chunk = { done: true, value: undefined };

/**
 * Read by one reader: chunk by chunk as a stream, or, once it is live, by whoever is called when there is something. In between there is no
 * generator: an event goes from the hub to the reader and leaves nothing behind.
 */
export class Watcher
  implements HubWatcher, ObservableBody, CallbackBody, AsyncIterator<Uint8Array, undefined>
{
  readonly #request: WatchRequest;
  readonly #context: WatcherContext;
  /** Only there while it reads history. */
  #stop: AbortController | undefined;
  /** The first event that waits to be taken; most of the time there is no second one. */
  #first: Buffer | undefined;
  #more: Buffer[] = [];
  #pendingBytes = 0;
  #lastRevision: Revision;
  #isFirst = true;
  /** Set when it hears of changes as they happen. */
  #live: HubSubscription | undefined;
  /** A tick came while the watch was still catching up: it is told as soon as it has. */
  #isBookmarkDue = false;
  #end: { error?: unknown } | undefined;
  #isGivenUp = false;
  /** Called when there is something to take. */
  #onReady: (() => void) | undefined;
  /** Until it is live. */
  #beginning: AsyncGenerator<Uint8Array, undefined> | undefined;
  #stage: "new" | "beginning" | "live" | "over" = "new";
  #timer: { cancel(): void } | undefined;
  readonly #notes: Notes[] = [];

  constructor(request: WatchRequest, context: WatcherContext) {
    this.#request = request;
    this.#context = context;
    this.#lastRevision = request.initial?.revision ?? request.afterRevision;
    request.unread.onEvict = () => this.#giveUp();
  }

  onEvent(event: HubEvent): void {
    this.#tell(event);
  }

  onRun(run: EventRange): number {
    const isPlain = this.#request.selection === undefined && !this.#isFirst;
    if (isPlain && run.first.revision > this.#lastRevision) {
      this.#lastRevision = run.last.revision;
      return this.#push(run.encoded(this.#form()));
    }
    return run.events.reduce((bytes, event) => bytes + this.#tell(event), 0);
  }

  /** Says how many bytes that was. */
  #tell(event: HubEvent): number {
    if (event.revision <= this.#lastRevision) return 0;
    this.#lastRevision = event.revision;
    const type = eventTypeFor(event, this.#request.selection);
    return type === undefined ? 0 : this.#push(event.encodeShared(type, this.#form()));
  }

  get isHeld(): boolean {
    return this.#first !== undefined;
  }

  onLost(error: StorageError): void {
    this.#finish(error.code === "closed" ? {} : { error });
  }

  onLeftBehind(): void {
    this.#finish({});
  }

  /** Tells an idle client how far history has come; called by the owner's one timer. */
  onTick(): void {
    if (this.#request.bookmark === undefined) return;
    if (this.#live === undefined) {
      this.#isBookmarkDue = true;
      return;
    }
    // In a crowd the hub may be ahead of what this client was told, and behind the state that it began with, which came from the store.
    const { revision: reached } = this.#context.hub;
    const last = this.#lastRevision;
    const revision = this.#live.isBehind || reached < last ? last : reached;
    this.#push(encodeFrame("BOOKMARK", this.#request.bookmark(revision, false)));
  }

  /** Ends the stream without an error, as a stopping server does. */
  end(): void {
    this.#finish({});
  }

  note(notes: Notes): void {
    this.#notes.push(notes);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<Chunk> {
    if (this.#stage === "new" || this.#stage === "beginning") {
      this.#beginning ??= this.beginning();
      const chunk = await this.#beginning.next();
      if (chunk.done === false) return chunk;
      this.#beginning = undefined;
    }
    for (let taken = this.take(); ; taken = this.take()) {
      if (taken === "over") return over;
      if (taken !== undefined) return { done: false, value: taken };
      await new Promise<void>((resolve) => {
        this.#onReady = resolve;
      });
      this.#onReady = undefined;
    }
  }

  async return(): Promise<Chunk> {
    await this.leave();
    return over;
  }

  async leave(): Promise<void> {
    this.#finish({});
    if (this.#stage === "beginning") await this.#beginning?.return(undefined);
    this.#conclude();
  }

  follow(onReady: () => void): void {
    this.#onReady = onReady;
  }

  get readyBytes(): number {
    const hasEnd = this.#end !== undefined || this.#stage === "over";
    return this.#pendingBytes === 0 && hasEnd ? 1 : this.#pendingBytes;
  }

  take(): Uint8Array | "over" | undefined {
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
    // The client may have left before anybody began to read.
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
    for (const { onBegin } of this.#notes) onBegin?.();
  }

  readonly #onAbort = () => this.#finish({});

  async *beginning(): AsyncGenerator<Uint8Array, undefined> {
    if (this.#stage !== "new") return;
    this.#begin();
    try {
      yield* this.#catchUp();
      // Whoever wanted no more in between has ended it.
      if ((this.#stage as string) === "over") return;
      this.#goLive();
      this.#stage = "live";
    } catch (error) {
      const failure = this.#failed(error);
      if (failure !== "over") yield failure;
    }
  }

  async *#catchUp(): AsyncGenerator<Uint8Array, undefined> {
    yield* this.#sendInitial();
    // The hub may have forgotten what was still to be sent: then the rest is history as well.
    do yield* this.#sendHistory();
    while (!(yield* this.#sendRecent()));
  }

  /** What is said last when something went wrong. */
  #failed(error: unknown): Uint8Array | "over" {
    this.#conclude();
    const { signal, errorObject } = this.#request;
    return signal.aborted ? "over" : encodeFrame("ERROR", errorObject(error));
  }

  #conclude(): void {
    const before = this.#stage;
    this.#stage = "over";
    this.#drop();
    if (before === "new") for (const { onUnread } of this.#notes) onUnread?.();
    if (before !== "beginning" && before !== "live") return;
    this.#live?.stop();
    this.#timer?.cancel();
    this.#request.signal.removeEventListener("abort", this.#onAbort);
    for (const { onEnd } of this.#notes) onEnd();
  }

  async *#sendInitial(): AsyncGenerator<Uint8Array> {
    const { initial, bookmark } = this.#request;
    if (initial === undefined) return;
    if (!(Symbol.asyncIterator in initial.entries)) yield* this.#encodeInitial(initial.entries);
    else for await (const page of initial.entries) yield* this.#sendPage(page);
    if (bookmark !== undefined && this.#end === undefined)
      yield encodeFrame("BOOKMARK", bookmark(initial.revision, true));
  }

  /** Objects that were read for this watch alone are held by it until it has sent them. */
  *#sendPage(page: readonly Entry[]): Generator<Uint8Array> {
    const { unread } = this.#request;
    const bytes = page.reduce((sum, { value }) => sum + value.length, 0);
    unread.holdCopy(bytes);
    try {
      yield* this.#encodeInitial(page);
    } finally {
      unread.releaseCopy(bytes);
    }
  }

  *#encodeInitial(entries: readonly Entry[]): Generator<Uint8Array> {
    let chunk: Buffer[] = [];
    let bytes = 0;
    for (const entry of entries) {
      if (this.#isGivenUp) return;
      const framed = initialFrame(entry, this.#form());
      chunk.push(framed);
      bytes += framed.length;
      if (bytes < watcherLimits.chunkBytes) continue;
      yield concatChunks(chunk);
      chunk = [];
      bytes = 0;
    }
    if (chunk.length > 0) yield concatChunks(chunk);
  }

  /** What the hub no longer has in memory comes from storage, until both meet. */
  async *#sendHistory(): AsyncGenerator<Uint8Array> {
    const { storage, hub } = this.#context;
    const { prefix, selection } = this.#request;
    if (this.#end !== undefined || this.#lastRevision >= hub.ringStart) return;
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
        if (type !== undefined) yield event.encode(type, this.#form());
      }
      if (change.revision > this.#lastRevision) this.#lastRevision = change.revision;
      if (this.#lastRevision >= hub.ringStart) return;
    }
  }

  /**
   * What the ring has, handed over at the reader's pace: a long history is not the reader's fault and is not held against its buffer.
   * When this returns true the watcher has seen nearly everything that the hub has, or is to see no more; false when the hub does not reach back to it.
   */
  *#sendRecent(): Generator<Uint8Array, boolean> {
    while (this.#end === undefined) {
      if (this.#lastRevision < this.#context.hub.ringStart) return false;
      const chunk = this.#takeRecent();
      if (chunk.length === 0) return true;
      yield concatChunks(chunk);
    }
    return true;
  }

  #takeRecent(): Buffer[] {
    const { hub } = this.#context;
    const { prefix, selection } = this.#request;
    const chunk: Buffer[] = [];
    let bytes = 0;
    for (const event of hub.replay(prefix, this.#lastRevision)) {
      this.#lastRevision = event.revision;
      const type = eventTypeFor(event, selection);
      if (type === undefined) continue;
      const encoded = event.encode(type, this.#form());
      chunk.push(encoded);
      bytes += encoded.length;
      if (bytes >= watcherLimits.chunkBytes) break;
    }
    return chunk;
  }

  /** Generators take a few turns to hand over: what came in them is taken from the ring in the same turn in which listening begins. */
  #goLive(): void {
    const { hub } = this.#context;
    const { prefix } = this.#request;
    this.#checkReach();
    this.#live = hub.follow(prefix, this);
    for (const event of hub.replay(prefix, this.#lastRevision)) {
      this.onEvent(event);
      event.forgetEncoded();
    }
    if (this.#isBookmarkDue) this.onTick();
  }

  #checkReach(): void {
    const { ringStart } = this.#context.hub;
    if (this.#lastRevision >= ringStart) return;
    throw new StorageError("compacted", "the watch fell behind the history that is kept", {
      oldest: ringStart,
    });
  }

  /** As much as fits into a chunk. Events are shared by all their watchers, and so are chunks of those that are equally far behind. */
  #takePending(first: Buffer): Buffer {
    const { unread } = this.#request;
    if (this.#more.length === 0) {
      this.#first = undefined;
      this.#pendingBytes = 0;
      unread.release(first);
      return first;
    }
    let [count, bytes] = [0, first.length];
    while (count < this.#more.length && bytes < watcherLimits.chunkBytes) {
      bytes += (this.#more[count++] as Buffer).length;
    }
    const taken = [first, ...this.#more.splice(0, count)];
    this.#first = this.#more.shift();
    this.#pendingBytes -= bytes;
    for (const each of taken) unread.release(each);
    return taken.length === 1 ? first : memoizedConcat(taken);
  }

  #drop(): void {
    const { unread } = this.#request;
    if (this.#first !== undefined) unread.release(this.#first);
    for (const each of this.#more) unread.release(each);
    this.#first = undefined;
    this.#more = [];
    this.#pendingBytes = 0;
  }

  /** Some forms say more in the first event than in later ones: a table its columns. */
  #form(): EventEncoding {
    const { form } = this.#request;
    if (!this.#isFirst) return form;
    this.#isFirst = false;
    return form.first ?? form;
  }

  #push(bytes: Buffer): number {
    if (this.#end !== undefined) return 0;
    if (this.#first === undefined) this.#first = bytes;
    else this.#more.push(bytes);
    this.#pendingBytes += bytes.length;
    this.#request.unread.hold(bytes);
    if (
      this.#more.length >= watcherLimits.bufferedEventsMax ||
      this.#pendingBytes > watcherLimits.bufferedBytesMax
    ) {
      this.#giveUp();
      return 0;
    }
    // Counting it may have been too much.
    if (this.#isGivenUp) return 0;
    this.#onReady?.();
    return bytes.length;
  }

  /** Its client is too slow: what it has not taken is forgotten, and it lists anew. */
  #giveUp(): void {
    this.#isGivenUp = true;
    this.#drop();
    this.#finish({});
  }

  #finish(end: { error?: unknown }): void {
    this.#end ??= end;
    this.#stop?.abort();
    this.#onReady?.();
  }
}

/** One event needs no copy. */
function concatChunks(chunk: readonly Buffer[]): Buffer {
  return chunk.length === 1 ? (chunk[0] as Buffer) : Buffer.concat(chunk);
}
