/**
 * One request and its response on a connection: received body bytes, and queued response bytes.
 *
 * A stream holds no more than the windows of both sides allow: for a slow reader `write` returns
 * false, and a client whose body is not read is stopped by flow control.
 */
import { eventLoopLimits, type QueuedStreams } from "../event-loop/index.ts";
import type { RequestHead } from "./frame-reader.ts";
import { type ErrorCode, errorCode } from "./protocol.ts";

export type StreamResponseHeaders = Readonly<
  Record<string, string | readonly string[] | undefined>
>;

/** The connection, as its streams see it. */
export interface StreamConnection {
  /** The stream has data to send. */
  ready(stream: ServerStream): void;
  /** Bytes of a body were consumed: the peer may send as many again. */
  consumed(stream: ServerStream, bytes: number): void;
  /** The response continues without the rest of the request, or is aborted. */
  reset(stream: ServerStream, code: ErrorCode): void;
  /** Sends 100-continue to a client that expects it. */
  proceed(stream: ServerStream): void;
  /**
   * The stream waits for its body; false when too many do. After the timeout the connection calls
   * `stopWaitingForBody`.
   */
  waitForBody(stream: ServerStream): boolean;
  /** The stream no longer waits for its body. */
  bodyArrived(stream: ServerStream): void;
  /** Counts the bytes of responses that are queued. */
  readonly queued: Pick<QueuedStreams<ServerStream>, "noteUnread">;
}

/** Counts the queued bytes of a watch; see `UnreadAccounting` of requests. */
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

/** `write` returns false with this many queued bytes. */
const waitingBytesMax = 16 << 10;

const { awaitedBodyBytesMax } = eventLoopLimits.inbound;

interface BodyReader {
  readonly bytesMax: number;
  /** Called for each received part; false ends the reading. */
  readonly hasRoom: ((bytes: number) => boolean) | undefined;
  readonly done: (result: Uint8Array | BodyError) => void;
}

export class ServerStream {
  readonly id: number;
  readonly head: RequestHead;
  readonly #host: StreamConnection;
  /** The bytes that the peer's window allows. */
  sendWindow: number;
  /** Consumed bytes of the body that the peer has no WINDOW_UPDATE for yet. */
  consumedBytes = 0;
  /** Whether the request is complete. */
  isReceived: boolean;
  /** Whether the last frame of the response was sent. */
  isResponseSent = false;
  /** Whether the response has a head. */
  hasResponseHead = false;
  /** Whether the stream counts as a request in flight. */
  isExecuting = false;
  /** Whether the request waits until the client has read earlier responses. */
  isQueued = false;
  /** Whether the response is a watch, which has its own rules for slow readers. */
  isWatch = false;
  /** Set for watches whose memory is counted. */
  unread: UnreadChunkAccounting | undefined;
  isClosed = false;

  /** Undefined until the first part arrives. */
  #parts: BodyParts | undefined;
  /** The received bytes of the body, consumed or not. */
  receivedBytes = 0;
  #bufferedBytes = 0;
  #reader: BodyReader | undefined;
  #isRefused = false;

  /** Set until it is sent. */
  answerHead: { readonly status: number; readonly headers: StreamResponseHeaders } | undefined;
  readonly #queue: Uint8Array[] = [];
  /** The number of parts at the head of the queue that are counted as unread. */
  #accountedChunks = 0;
  /** The queued bytes of the response. */
  queuedBytes = 0;
  /** No more parts follow the queued ones. */
  isEnding = false;
  #onWritable: (() => void) | undefined;
  #writableBelow = waitingBytesMax;
  /** Whether bytes were sent since the last check. */
  hasProgressed = false;
  /** The number of consecutive checks without progress. */
  #stalledChecks = 0;
  readonly #onClose: (() => void)[] = [];
  /** Called when the body is complete. */
  #onBodyArrived: (() => void) | undefined;

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

  /** Called once the stream is closed, for any cause; at once when it already is. */
  onClose(callback: () => void): void {
    if (this.isClosed) callback();
    else this.#onClose.push(callback);
  }

  /**
   * Calls back when the request is complete, at once if it is or its body is large. A client that
   * sends a thousand heads before their bodies starts no work, whose results would only age while
   * it waits. Does not call back when the client cancels before.
   */
  onBodyArrived(writeHead: () => void): void {
    const { contentLength = 0, headers } = this.head;
    const isAwaited =
      !this.isReceived &&
      this.receivedBytes < awaitedBodyBytesMax &&
      contentLength <= awaitedBodyBytesMax &&
      headers["expect"] === undefined &&
      this.#host.waitForBody(this);
    if (isAwaited) this.#onBodyArrived = writeHead;
    else writeHead();
  }

  /** Ends the wait for the body after its timeout. */
  stopWaitingForBody(): void {
    const begin = this.#onBodyArrived;
    if (begin === undefined) return;
    this.#onBodyArrived = undefined;
    this.#host.bodyArrived(this);
    begin();
  }

  /**
   * Delivers the complete body, or the reason why it will not arrive. Beyond `bytesMax` no more
   * bytes are received.
   */
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
      this.#returnWindow();
    }
  }

  /** Sends a complete response. */
  respond(status: number, headers: StreamResponseHeaders, body: Uint8Array | undefined): void {
    if (this.isClosed) return;
    this.hasResponseHead = true;
    this.answerHead = { status, headers };
    if (body !== undefined && body.length > 0) {
      this.#queue.push(body);
      this.queuedBytes = body.length;
      if (!this.isWatch) this.#host.queued.noteUnread(body.length);
    }
    this.isEnding = true;
    this.#host.ready(this);
  }

  /** Begins a streamed response. */
  writeHead(status: number, headers: StreamResponseHeaders): void {
    if (this.isClosed) return;
    this.hasResponseHead = true;
    this.answerHead = { status, headers };
    this.#host.ready(this);
  }

  /** False when the client does not keep up: see `writable`. */
  write(part: Uint8Array): boolean {
    if (this.isClosed || part.length === 0) return true;
    this.#queue.push(part);
    this.queuedBytes += part.length;
    if (!this.isWatch) this.#host.queued.noteUnread(part.length);
    this.#host.ready(this);
    // Most parts have been sent by now, and are never counted.
    if (this.unread !== undefined) this.#accountRest(this.unread);
    return this.queuedBytes < waitingBytesMax;
  }

  /** Resolves when the queue has space again, or when the stream is closed. */
  writable(): Promise<void> {
    return this.#below(waitingBytesMax);
  }

  /**
   * Resolves when everything that was written has been copied or sent, or when the stream is
   * closed.
   */
  drained(): Promise<void> {
    return this.#below(1);
  }

  #below(bytes: number): Promise<void> {
    if (this.isClosed || this.queuedBytes < bytes) return Promise.resolve();
    this.#writableBelow = bytes;
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

  // The following members are for the connection.

  /**
   * Receives a part of the body, with its size in the window. Returns an error code when it
   * contradicts the announced length.
   */
  receive(part: Uint8Array, windowBytes: number, isEnd: boolean): ErrorCode | undefined {
    this.receivedBytes += part.length;
    this.#bufferedBytes += windowBytes;
    const { contentLength } = this.head;
    if (contentLength !== undefined) {
      const isWrong = isEnd
        ? this.receivedBytes !== contentLength
        : this.receivedBytes > contentLength;
      if (isWrong) return errorCode.protocolError;
    }
    if (isEnd) this.isReceived = true;
    if (this.#isRefused) return undefined;
    this.#parts ??= new BodyParts();
    this.#parts.push(part, isEnd);
    if (this.#onBodyArrived !== undefined) {
      if (isEnd || this.receivedBytes >= awaitedBodyBytesMax) this.stopWaitingForBody();
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
    else this.#returnWindow();
    return undefined;
  }

  /** Takes up to this many queued bytes, without copying. */
  takeBytes(bytesMax: number): Uint8Array {
    const first = this.#queue[0];
    if (first === undefined) return nothing;
    let part = first;
    if (first.length <= bytesMax) {
      this.#queue.shift();
      if (this.#accountedChunks > 0) {
        this.#accountedChunks--;
        this.unread?.release(first);
      }
    } else {
      part = first.subarray(0, bytesMax);
      this.#queue[0] = first.subarray(bytesMax);
    }
    this.queuedBytes -= part.length;
    this.hasProgressed = true;
    if (!this.isWatch) this.#host.queued.noteUnread(-part.length);
    if (this.#onWritable !== undefined && this.queuedBytes < this.#writableBelow) this.#wake();
    return part;
  }

  /** Returns the number of consecutive checks without read progress. Always 0 for an open watch. */
  checkProgress(): number {
    const waits = this.answerHead !== undefined || this.queuedBytes > 0 || this.isEnding;
    const mayWait = this.isWatch && !this.isEnding;
    this.#stalledChecks = waits && !this.hasProgressed && !mayWait ? this.#stalledChecks + 1 : 0;
    this.hasProgressed = false;
    return this.#stalledChecks;
  }

  /**
   * Ends all waits. Returns the unconsumed bytes of the body, whose window the connection returns.
   */
  close(): number {
    this.isClosed = true;
    while (this.#accountedChunks > 0)
      this.unread?.release(this.#queue[--this.#accountedChunks] as Uint8Array);
    this.#queue.length = 0;
    if (!this.isWatch && this.queuedBytes > 0) this.#host.queued.noteUnread(-this.queuedBytes);
    this.queuedBytes = 0;
    this.answerHead = undefined;
    if (this.#onBodyArrived !== undefined) {
      this.#onBodyArrived = undefined;
      this.#host.bodyArrived(this);
    }
    const held = this.#bufferedBytes;
    this.#bufferedBytes = 0;
    if (!this.isReceived) this.#reader?.done(new BodyError("incomplete"));
    this.#reader = undefined;
    if (this.#onWritable !== undefined) this.#wake();
    for (const callback of this.#onClose) callback();
    return held;
  }

  #accountRest(unread: UnreadChunkAccounting): void {
    // Holding memory may close the stream.
    while (this.#accountedChunks < this.#queue.length)
      unread.hold(this.#queue[this.#accountedChunks++] as Uint8Array);
  }

  #wake(): void {
    const resume = this.#onWritable;
    this.#onWritable = undefined;
    resume?.();
  }

  #takeBody(): Uint8Array {
    this.#reader = undefined;
    this.#returnWindow();
    return this.#parts?.take() ?? nothing;
  }

  #returnWindow(): void {
    const held = this.#bufferedBytes;
    if (held === 0 || this.isClosed) return;
    this.#bufferedBytes = 0;
    this.#host.consumed(this, held);
  }

  #refuseBody(): void {
    this.#isRefused = true;
    this.#parts = undefined;
    this.#reader = undefined;
  }
}

const nothing = new Uint8Array();

// The received parts of a body. Large parts are kept as received; small ones are copied together:
// as received, each would hold an object and its whole receive buffer, for as little as one byte.

/** Smaller parts are copied. */
export const copiedPartBytesMax = 4 << 10;
/** The maximal size of the memory for copied parts. */
const tailBytesMax = 64 << 10;
const tailBytesMin = 512;

export class BodyParts {
  #whole: Uint8Array[] = [];
  #tail: Buffer | undefined;
  #tailUsed = 0;

  /** Most bodies are one part, which is also the last: it is kept as received. */
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

  /** The complete body as one buffer; nothing remains. */
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

  /** The number of held buffers. */
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
