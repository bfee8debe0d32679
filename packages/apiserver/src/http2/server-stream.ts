/**
 * One request and its answer on a connection: what has come in, and what still has to go out.
 *
 * It holds no more than the windows of both sides allow: a client that is slow to read makes `write` say no, and one whose body nobody
 * reads is held back by the window that is not given back.
 */
import { eventLoopLimits } from "../event-loop/index.ts";
import type { RequestHead } from "./frame-reader.ts";
import { type ErrorCode, errorCode } from "./protocol.ts";

export type StreamResponseHeaders = Readonly<
  Record<string, string | readonly string[] | undefined>
>;

/** The connection, as its streams see it. */
export interface StreamConnection {
  /** The stream has something to send. */
  ready(stream: ServerStream): void;
  /** So many bytes of a body were taken: the peer may send as many again. */
  consumed(stream: ServerStream, bytes: number): void;
  /** The answer goes on without the rest of the request, or is given up. */
  reset(stream: ServerStream, code: ErrorCode): void;
  /** Tells a client that waits for it that its body is wanted. */
  proceed(stream: ServerStream): void;
  /** Somebody waits for its body; false when too many do. What is waited for too long is to be told to wait no longer. */
  arriving(stream: ServerStream): boolean;
  /** Nobody waits any more. */
  arrived(stream: ServerStream): void;
  /** So many bytes of an answer wait to be sent; negative when they no longer do. */
  noteUnread(bytes: number): void;
}

/** Where it is counted what waits of a watch; see `UnreadAccounting` of requests. */
export interface UnreadChunkAccounting {
  hold(part: Uint8Array): void;
  release(part: Uint8Array): void;
}

export class BodyError extends Error {
  readonly reason: "too-large" | "incomplete" | "no-room";

  constructor(reason: BodyError["reason"]) {
    super(reason);
    this.name = "BodyError";
    this.reason = reason;
  }
}

/** `write` says no when this much waits. */
const waitingBytesMax = 16 << 10;

const { awaitedBodyBytesMax } = eventLoopLimits.inbound;

interface BodyReader {
  readonly bytesMax: number;
  /** Asked for each part that comes; no ends the reading. */
  readonly hasRoom: ((bytes: number) => boolean) | undefined;
  readonly done: (result: Uint8Array | BodyError) => void;
}

export class ServerStream {
  readonly id: number;
  readonly head: RequestHead;
  readonly #host: StreamConnection;
  /** What the peer lets us send. */
  sendWindow: number;
  /** What was taken of the body, and the peer has not been told yet. */
  consumedBytes = 0;
  /** The whole request is here. */
  isReceived: boolean;
  /** The last frame of the answer was sent. */
  isAnswered = false;
  /** The answer has its head. */
  isBegun = false;
  /** It counts as one of the requests that are worked on. */
  isAtWork = false;
  /** It begins when the client has read of what was answered before. */
  isQueued = false;
  /** The answer goes on as things happen: it has its own rules for readers that are slow. */
  isWatch = false;
  /** Set for watches whose memory is counted. */
  unread: UnreadChunkAccounting | undefined;
  isClosed = false;

  readonly #parts = new BodyParts();
  /** Of the body, whether or not it has been taken. */
  receivedBytes = 0;
  #heldBytes = 0;
  #reader: BodyReader | undefined;
  #isRefused = false;

  /** Until it is sent. */
  answerHead: { readonly status: number; readonly headers: StreamResponseHeaders } | undefined;
  readonly #queue: Uint8Array[] = [];
  /** How many parts of the queue, from its beginning on, are counted as unread. */
  #heldParts = 0;
  /** Of the answer, that wait to be sent. */
  queuedBytes = 0;
  /** Nothing will come after what waits now. */
  isEnding = false;
  #onWritable: (() => void) | undefined;
  #wakeBelow = waitingBytesMax;
  /** Something was sent since it was last looked at. */
  #hasMoved = false;
  /** How often in a row it was looked at, and had not moved. */
  #looks = 0;
  readonly #onClose: (() => void)[] = [];
  /** Who waits for the body. */
  #onArrived: (() => void) | undefined;

  constructor(
    id: number,
    head: RequestHead,
    host: StreamConnection,
    sendWindow: number,
    isReceived: boolean,
  ) {
    this.id = id;
    this.head = head;
    this.#host = host;
    this.sendWindow = sendWindow;
    this.isReceived = isReceived;
  }

  /** Called once the stream is closed, however it came to that; at once when it already is. */
  onClose(callback: () => void): void {
    if (this.isClosed) callback();
    else this.#onClose.push(callback);
  }

  /**
   * Calls back when the whole request is here, at once if it is or is long. Who sends a thousand heads before their bodies has nothing begun
   * for them, which would only grow old while it waits. Not at all when the client gives up before.
   */
  whenHere(begin: () => void): void {
    const { contentLength = 0, headers } = this.head;
    const isAwaited =
      !this.isReceived &&
      this.receivedBytes < awaitedBodyBytesMax &&
      contentLength <= awaitedBodyBytesMax &&
      headers["expect"] === undefined &&
      this.#host.arriving(this);
    if (isAwaited) this.#onArrived = begin;
    else begin();
  }

  /** It has been waited for long enough. */
  waitNoLonger(): void {
    const begin = this.#onArrived;
    if (begin === undefined) return;
    this.#onArrived = undefined;
    this.#host.arrived(this);
    begin();
  }

  /** Hands over the whole body, or says why it will not come. Beyond `bytesMax` nothing more is taken. */
  readBody(bytesMax: number, done: BodyReader["done"], hasRoom?: BodyReader["hasRoom"]): void {
    const announced = this.head.contentLength ?? 0;
    if (announced > bytesMax || this.receivedBytes > bytesMax) {
      this.#refuseBody();
      done(new BodyError("too-large"));
    } else if (hasRoom?.(this.receivedBytes) === false) {
      this.#refuseBody();
      done(new BodyError("no-room"));
    } else if (this.isReceived) done(this.#takeBody());
    else if (this.isClosed) done(new BodyError("incomplete"));
    else {
      if (this.head.headers["expect"] === "100-continue") this.#host.proceed(this);
      this.#reader = { bytesMax, hasRoom, done };
      this.#giveBack();
    }
  }

  /** A whole answer. */
  answer(status: number, headers: StreamResponseHeaders, body: Uint8Array | undefined): void {
    if (this.isClosed) return;
    this.isBegun = true;
    this.answerHead = { status, headers };
    if (body !== undefined && body.length > 0) {
      this.#queue.push(body);
      this.queuedBytes = body.length;
      if (!this.isWatch) this.#host.noteUnread(body.length);
    }
    this.isEnding = true;
    this.#host.ready(this);
  }

  /** The beginning of an answer that goes on. */
  begin(status: number, headers: StreamResponseHeaders): void {
    if (this.isClosed) return;
    this.isBegun = true;
    this.answerHead = { status, headers };
    this.#host.ready(this);
  }

  /** False when the client does not keep up: see `writable`. */
  write(part: Uint8Array): boolean {
    if (this.isClosed || part.length === 0) return true;
    this.#queue.push(part);
    this.queuedBytes += part.length;
    if (!this.isWatch) this.#host.noteUnread(part.length);
    this.#host.ready(this);
    // Most parts have been sent by now, and are never counted.
    if (this.unread !== undefined) this.#holdRest(this.unread);
    return this.queuedBytes < waitingBytesMax;
  }

  /** Resolves when there is room again, or when nobody reads any more. */
  writable(): Promise<void> {
    return this.#below(waitingBytesMax);
  }

  /** Resolves when everything that was written has been copied or sent, or when nobody reads any more. */
  emptied(): Promise<void> {
    return this.#below(1);
  }

  #below(bytes: number): Promise<void> {
    if (this.isClosed || this.queuedBytes < bytes) return Promise.resolve();
    this.#wakeBelow = bytes;
    return new Promise((resolve) => {
      this.#onWritable = resolve;
    });
  }

  end(): void {
    if (this.isClosed) return;
    this.isEnding = true;
    this.#host.ready(this);
  }

  reset(code: ErrorCode): void {
    if (!this.isClosed) this.#host.reset(this, code);
  }

  // What follows is for the connection.

  /** A part of the body, with how much of the window it took. An error code when it is more or less than announced. */
  receive(part: Uint8Array, windowBytes: number, isEnd: boolean): ErrorCode | undefined {
    this.receivedBytes += part.length;
    this.#heldBytes += windowBytes;
    const { contentLength } = this.head;
    if (contentLength !== undefined) {
      const isWrong = isEnd
        ? this.receivedBytes !== contentLength
        : this.receivedBytes > contentLength;
      if (isWrong) return errorCode.protocolError;
    }
    if (isEnd) this.isReceived = true;
    if (this.#isRefused) return undefined;
    this.#parts.push(part, isEnd);
    if (this.#onArrived !== undefined) {
      if (isEnd || this.receivedBytes >= awaitedBodyBytesMax) this.waitNoLonger();
      return undefined;
    }
    const reader = this.#reader;
    if (reader === undefined) return undefined;
    if (this.receivedBytes > reader.bytesMax) {
      this.#refuseBody();
      reader.done(new BodyError("too-large"));
    } else if (reader.hasRoom?.(part.length) === false) {
      this.#refuseBody();
      reader.done(new BodyError("no-room"));
    } else if (isEnd) reader.done(this.#takeBody());
    else this.#giveBack();
    return undefined;
  }

  takeHead(): { readonly status: number; readonly headers: StreamResponseHeaders } | undefined {
    const head = this.answerHead;
    this.answerHead = undefined;
    this.#hasMoved = true;
    return head;
  }

  /** Up to so many bytes of what waits, without copying. */
  takeBytes(bytesMax: number): Uint8Array {
    const first = this.#queue[0];
    if (first === undefined) return nothing;
    let part = first;
    if (first.length <= bytesMax) {
      this.#queue.shift();
      if (this.#heldParts > 0) {
        this.#heldParts--;
        this.unread?.release(first);
      }
    } else {
      part = first.subarray(0, bytesMax);
      this.#queue[0] = first.subarray(bytesMax);
    }
    this.queuedBytes -= part.length;
    this.#hasMoved = true;
    if (!this.isWatch) this.#host.noteUnread(-part.length);
    if (this.#onWritable !== undefined && this.queuedBytes < this.#wakeBelow) this.#wake();
    return part;
  }

  /** Looks whether its reader reads: how often in a row nothing was, though there was something. Never of a watch that goes on. */
  look(): number {
    const waits = this.answerHead !== undefined || this.queuedBytes > 0 || this.isEnding;
    const mayWait = this.isWatch && !this.isEnding;
    this.#looks = waits && !this.#hasMoved && !mayWait ? this.#looks + 1 : 0;
    this.#hasMoved = false;
    return this.#looks;
  }

  /** Ends everything that waits. What was not taken of the body is the connection's to give back. */
  close(): number {
    this.isClosed = true;
    while (this.#heldParts > 0) this.unread?.release(this.#queue[--this.#heldParts] as Uint8Array);
    this.#queue.length = 0;
    if (!this.isWatch && this.queuedBytes > 0) this.#host.noteUnread(-this.queuedBytes);
    this.queuedBytes = 0;
    this.answerHead = undefined;
    if (this.#onArrived !== undefined) {
      this.#onArrived = undefined;
      this.#host.arrived(this);
    }
    const held = this.#heldBytes;
    this.#heldBytes = 0;
    if (!this.isReceived) this.#reader?.done(new BodyError("incomplete"));
    this.#reader = undefined;
    if (this.#onWritable !== undefined) this.#wake();
    for (const callback of this.#onClose) callback();
    return held;
  }

  #holdRest(unread: UnreadChunkAccounting): void {
    // Holding may close the stream.
    while (this.#heldParts < this.#queue.length)
      unread.hold(this.#queue[this.#heldParts++] as Uint8Array);
  }

  #wake(): void {
    const resume = this.#onWritable;
    this.#onWritable = undefined;
    resume?.();
  }

  #takeBody(): Uint8Array {
    this.#reader = undefined;
    this.#giveBack();
    return this.#parts.take();
  }

  #giveBack(): void {
    const held = this.#heldBytes;
    if (held === 0 || this.isClosed) return;
    this.#heldBytes = 0;
    this.#host.consumed(this, held);
  }

  #refuseBody(): void {
    this.#isRefused = true;
    this.#parts.clear();
    this.#reader = undefined;
  }
}

const nothing = new Uint8Array();

// What has come of a body. Large parts are kept as they came; small ones are copied together: kept as it came, each would hold an object
// and the whole of the bytes that it arrived with, for as little as one byte.

/** Smaller parts are copied. */
export const copiedPartBytesMax = 4 << 10;
/** They are copied into memory of this size at most. */
const tailBytesMax = 64 << 10;
const tailBytesMin = 512;

export class BodyParts {
  #whole: Uint8Array[] = [];
  #tail: Buffer | undefined;
  #tailUsed = 0;

  /** Most bodies are one part, which is also the last: it is kept as it came. */
  push(part: Uint8Array, isLast: boolean): void {
    if (part.length === 0) return;
    if (part.length >= copiedPartBytesMax || (isLast && this.count === 0)) {
      this.#closeTail();
      this.#whole.push(part);
      return;
    }
    const tail = this.#tailFor(part.length);
    tail.set(part, this.#tailUsed);
    this.#tailUsed += part.length;
  }

  /** Everything, in one piece; nothing is left. */
  take(): Uint8Array {
    this.#closeTail();
    const parts = this.#whole;
    this.#whole = [];
    return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
  }

  clear(): void {
    this.#whole = [];
    this.#tail = undefined;
    this.#tailUsed = 0;
  }

  /** Pieces of memory that are held. */
  get count(): number {
    return this.#whole.length + (this.#tail === undefined ? 0 : 1);
  }

  #tailFor(bytes: number): Buffer {
    const tail = this.#tail;
    const wanted = this.#tailUsed + bytes;
    if (tail !== undefined && wanted <= tail.length) return tail;
    if (tail !== undefined && wanted > tailBytesMax) this.#closeTail();
    const used = this.#tailUsed;
    const size = used === 0 ? Math.max(tailBytesMin, bytes) : Math.min(wanted * 2, tailBytesMax);
    const larger = Buffer.allocUnsafeSlow(Math.max(size, used + bytes));
    if (used > 0) larger.set((this.#tail as Buffer).subarray(0, used));
    this.#tail = larger;
    return larger;
  }

  #closeTail(): void {
    if (this.#tail === undefined) return;
    this.#whole.push(this.#tail.subarray(0, this.#tailUsed));
    this.#tail = undefined;
    this.#tailUsed = 0;
  }
}
