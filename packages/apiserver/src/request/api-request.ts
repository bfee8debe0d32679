/**
 * A request and its answer, as every room above `http/` sees them: no sockets, no framework.
 *
 * `http/` makes these from HTTP/1.1 and HTTP/2; an in-process client makes them directly.
 */
import type { X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";

export type HeaderRecord = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface ApiRequest {
  readonly method: string;
  /** The raw path and query, as on the request line. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: HeaderRecord;
  /** Names and values in turn, as sent: for headers that may stand several times. Absent where `headers` keeps such apart itself. */
  readonly rawHeaders?: readonly string[] | undefined;
  readonly remoteAddress: string;
  /** The certificate whose key the client holds, whoever issued it; the same object for all requests of a connection. */
  clientCertificate(): X509Certificate | undefined;
  /** Told when somebody has shown who they are; connections of others go first. */
  onAuthenticated?(username: string): void;
  /** Calls back when the client goes away before it has its answer; at once if it already has. */
  onClose(callback: () => void): void;
  /**
   * Reads the body once; throws a 413 StatusError beyond `bytesMax` without reading on. `onPart` is told of what comes over a network as it
   * comes, and ends the reading by throwing.
   */
  readBody(bytesMax: number, onPart?: (bytes: number) => void): Promise<Uint8Array>;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Whole bytes, or a stream whose reader sets the pace. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /**
   * Set with status 101, in answer to a request that asked for an upgrade: the connection is the answerer's from here on. Whoever takes it
   * ends it.
   */
  readonly takeOver?: (connection: Duplex) => void;
  /** The stream goes on as things happen: never compressed, never timed. */
  readonly isWatch?: boolean;
  /** Where it is counted what a client does not read of a watch. */
  readonly unread?: UnreadAccounting | undefined;
  /** What making a byte of the stream takes, where that is more than copying it. */
  readonly microsPerByte?: number;
  /** Asked before each chunk of a stream is written. */
  pace?: Pace | undefined;
  /** Told how much a stream was, when it was written to its end. */
  onSent?: ((bytes: number) => void) | undefined;
}

/** True when so many bytes may be written now; else `write` is called when they may. */
export type Pace = (bytes: number, write: () => void) => boolean;

/** Resolves when so many bytes may be written. */
export function untilPaced(pace: Pace, bytes: number): Promise<void> {
  return new Promise((resolve) => {
    if (pace(bytes, resolve)) resolve();
  });
}

/** Memory that is held for a client until it reads. */
export interface UnreadAccounting {
  /** The memory that a part stands on; `release` is called once for each time it is held. */
  hold(part: Uint8Array): void;
  release(part: Uint8Array): void;
  /** The same of copies, which nobody shares. */
  holdCopy(bytes: number): void;
  releaseCopy(bytes: number): void;
  /** Called when too much is held: to give up what is on its way. */
  onCut: (() => void) | undefined;
}

/**
 * A stream that can also lend its chunks: one that was lent holds until the next one is asked for. Who copies what he gets takes it so, and
 * nothing is allocated for it.
 */
export interface BufferReusingBody extends AsyncIterable<Uint8Array> {
  lend(): AsyncIterable<Uint8Array>;
}

export function isBufferReusing(body: AsyncIterable<Uint8Array>): body is BufferReusingBody {
  return "lend" in body;
}

/**
 * A stream whose beginning and end can be noted without standing between it and its reader: with ten thousand of them every layer counts.
 * What is noted is told at most once: the beginning when the first chunk is asked for, the end only after it; or that it was left unread.
 */
export interface ObservableBody extends AsyncIterable<Uint8Array> {
  note(notes: {
    readonly onBegin?: () => void;
    readonly onEnd: () => void;
    readonly onUnread?: () => void;
  }): void;
}

/**
 * A stream that calls when it has something, instead of being waited for. Whoever waits for ten thousand of them by promises keeps as many things in
 * memory for each of their events, and every collection of garbage copies them.
 */
export interface CallbackBody extends AsyncIterable<Uint8Array> {
  /** Up to the present. Afterwards it is taken from, until it is over. */
  beginning(): AsyncIterable<Uint8Array>;
  /** From then on: called whenever there is more to take than there was, or an end. */
  follow(onReady: () => void): void;
  /** About how much there is to take; 0 says that there is nothing, and no end. */
  readonly readyBytes: number;
  /** The next chunk, undefined when there is nothing now. */
  take(): Uint8Array | "over" | undefined;
  /** Its reader wants no more. */
  leave(): Promise<void>;
}

export function isCallbackBody(body: AsyncIterable<Uint8Array>): body is CallbackBody {
  return "follow" in body;
}

/**
 * To be called for a body that is not read: of an answer to HEAD, or whose client is gone, or that is replaced by another. What was opened for it
 * is given back. A failure is of nobody's interest: the body was not wanted.
 */
export function cancelBody(body: ApiResponse["body"]): void {
  if (body === undefined || body instanceof Uint8Array) return;
  // A stream of Node's that nobody has read from does not hear that its iterator was left.
  if (isDestroyable(body)) {
    body.destroy();
    return;
  }
  const left = isCallbackBody(body) ? body.leave() : body[Symbol.asyncIterator]().return?.();
  left?.then(undefined, () => {});
}

function isDestroyable(body: object): body is { destroy(): void } {
  return "destroy" in body;
}

export function isObservable(body: AsyncIterable<Uint8Array>): body is ObservableBody {
  return "note" in body;
}

export function header(headers: HeaderRecord, name: string): string | undefined {
  const value = headers[name];
  if (value === undefined || typeof value === "string") return value;
  return value.join(", ");
}

/** Answers that need no waiting come without a promise. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** What a client wants to speak instead of HTTP from here on, in lower case; undefined when it wants nothing of the kind. */
export function requestedUpgrade(headers: HeaderRecord): string | undefined {
  const asked = header(headers, "connection")
    ?.split(",")
    .some((option) => option.trim().toLowerCase() === "upgrade");
  return asked === true ? header(headers, "upgrade")?.trim().toLowerCase() : undefined;
}

/** The headers of an answer, names in lower case. Those without a value are not sent. */
export type ResponseHeaders = Record<string, string | string[] | undefined>;

/**
 * What most answers carry has its place from the start: to grow by one header at a time, in each of the places that know one, cost a create
 * a twentieth of its time.
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

/** The same for those who cannot leave out what has no value. */
export function sentHeaders(headers: ResponseHeaders): Record<string, string | string[]> {
  const sent: Record<string, string | string[]> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) sent[name] = value;
  }
  return sent;
}
