/**
 * A request and its response, as every folder above `http/` sees them: without sockets and
 * frameworks.
 *
 * `http/` creates them from HTTP/1.1 and HTTP/2; an in-process client creates them directly.
 */
import type { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import type { UserInfo } from "./user.ts";

export type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface ApiRequest {
  readonly method: string;
  /** The raw path and query, as on the request line. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: HeaderRecord;
  /**
   * Alternating names and values, as sent: for repeated headers. Absent where `headers` keeps
   * repeated headers apart itself.
   */
  readonly rawHeaders?: readonly string[] | undefined;
  readonly remoteAddress: string;
  /**
   * The certificate whose key the client holds, from any issuer; the same object for all requests
   * of a connection.
   */
  readonly clientCertificate: X509Certificate | undefined;
  /**
   * Who sends the request, where the connection says it: another shard of this installation, for an
   * in-process client of its own. Never set from what a client sends.
   */
  readonly vouchedUser?: UserInfo | undefined;
  /** Called after authentication; unauthenticated connections are closed first. */
  onAuthenticated?(username: string): void;
  /** Calls back when the client disconnects before its response; at once if it already has. */
  onClose(callback: () => void): void;
  /**
   * Reads the body once; throws a 413 StatusError beyond `bytesMax` without reading on. `onPart` is
   * called for received chunks, and ends the reading by throwing.
   */
  readBody(bytesMax: number, onPart?: (bytes: number) => void): Promise<Uint8Array>;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Complete bytes, or a stream with backpressure. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /**
   * Set with status 101, in response to an upgrade request: the callee owns the connection from
   * here on, and has to end it.
   */
  readonly onUpgrade?: (connection: Duplex) => void;
  /** The stream is a watch: never compressed, without a deadline. */
  readonly isWatch?: boolean;
  /** Counts the unread bytes of a watch. */
  readonly unread?: UnreadAccounting | undefined;
  /** The cost of producing a byte of the stream, where it exceeds that of copying. */
  readonly microsPerByte?: number;
  /** Called before each chunk of a stream is written. */
  throttle?: Pace | undefined;
  /** Called with the size of a stream when it was written to its end. */
  onSent?: ((bytes: number) => void) | undefined;
}

/** True when this number of bytes may be written now; otherwise `write` is called when they may. */
export type Pace = (bytes: number, write: () => void) => boolean;

/** Resolves when this number of bytes may be written. */
export function untilPaced(pace: Pace, bytes: number): Promise<void> {
  return new Promise((resolve) => {
    if (pace(bytes, resolve)) resolve();
  });
}

/** Accounts for memory that is held for a client until it reads. */
export interface UnreadAccounting {
  /** Holds the backing memory of a part; `release` is called once for each hold. */
  hold(part: Uint8Array): void;
  release(part: Uint8Array): void;
  /** Holds a copy, which is not shared. */
  holdCopy(bytes: number): void;
  releaseCopy(bytes: number): void;
  /** Called when too much memory is held: to reset the stream. */
  onReset: (() => void) | undefined;
}

/**
 * A stream that can reuse the buffer of its chunks: a chunk is valid until the next one is
 * requested. A reader that copies chunks uses this form, which allocates nothing.
 */
export interface BufferReusingBody extends AsyncIterable<Uint8Array> {
  reusingBuffer(): AsyncIterable<Uint8Array>;
}

export function isBufferReusing(body: AsyncIterable<Uint8Array>): body is BufferReusingBody {
  return "reusingBuffer" in body;
}

/**
 * A stream whose beginning and end can be observed without a wrapper between it and its reader:
 * with ten thousand streams every layer counts. Each notification comes at most once: the beginning
 * when the first chunk is requested, the end only after it; or the cancellation without a read.
 */
export interface ObservableBody extends AsyncIterable<Uint8Array> {
  observe(notes: {
    readonly onBegin?: () => void;
    readonly onEnd: () => void;
    readonly onUnread?: () => void;
  }): void;
}

/**
 * A stream that calls back when it has data, instead of being awaited. Awaiting ten thousand
 * streams by promises allocates objects per stream for each event, which every garbage collection
 * copies.
 */
export interface CallbackBody extends AsyncIterable<Uint8Array> {
  /** The chunks up to the present. Afterwards the reader calls `read`, until the stream is over. */
  initialChunks(): AsyncIterable<Uint8Array>;
  /** Registers the callback for new data, or the end, after the initial chunks. */
  onReadable(onReady: () => void): void;
  /** The approximate number of readable bytes; 0 means neither data nor an end. */
  readonly readableBytes: number;
  /** The next chunk, undefined when there is none now. */
  read(): Uint8Array | "over" | undefined;
  /** The reader stops reading. */
  cancel(): Promise<void>;
}

export function isCallbackBody(body: AsyncIterable<Uint8Array>): body is CallbackBody {
  return "onReadable" in body;
}

/**
 * Releases a body that is not read: of a response to HEAD, of a disconnected client, or of a
 * replaced response. Its resources are released. Errors are ignored, because the body is not
 * needed.
 */
export function cancelBody(body: ApiResponse["body"]): void {
  if (body === undefined || body instanceof Uint8Array) return;
  // A Node stream without a reader is not notified when its iterator returns.
  if (isDestroyable(body)) {
    body.destroy();
    return;
  }
  const left = isCallbackBody(body) ? body.cancel() : body[Symbol.asyncIterator]().return?.();
  left?.then(undefined, () => {});
}

function isDestroyable(body: object): body is { destroy(): void } {
  return "destroy" in body;
}

export function isObservable(body: AsyncIterable<Uint8Array>): body is ObservableBody {
  return "observe" in body;
}

export function header(headers: HeaderRecord, name: string): string | undefined {
  const value = headers[name];
  if (value === undefined || typeof value === "string") return value;
  return value.join(", ");
}

/** Synchronous results come without a promise. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** The protocol of an upgrade request, in lower case; undefined without one. */
export function requestedUpgrade(headers: HeaderRecord): string | undefined {
  const asked = header(headers, "connection")
    ?.split(",")
    .some((option) => option.trim().toLowerCase() === "upgrade");
  return asked === true ? header(headers, "upgrade")?.trim().toLowerCase() : undefined;
}

/** The headers of a response, names in lower case. Headers without a value are not sent. */
export type ResponseHeaders = Record<string, string | string[] | undefined>;

/**
 * Common headers are preallocated: adding headers one at a time changes the hidden class, and cost
 * a create a twentieth of its time.
 */
export function responseHeaders(contentType: string): ResponseHeaders {
  return {
    "audit-id": undefined,
    "cache-control": undefined,
    "content-type": contentType,
    "x-kubernetes-pf-flowschema-uid": undefined,
    "x-kubernetes-pf-prioritylevel-uid": undefined,
    date: undefined,
    "content-length": undefined,
  };
}

/** The headers without undefined values, for callers that cannot skip them. */
export function sentHeaders(headers: ResponseHeaders): Record<string, string | string[]> {
  const sent: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) sent[name] = value;
  }
  return sent;
}

/**
 * Parses query booleans as Kubernetes does: absent, `false` in any case and `0` are false,
 * everything else is true.
 */
export function isTrue(value: string | null): boolean {
  return value !== null && value.toLowerCase() !== "false" && value !== "0";
}
