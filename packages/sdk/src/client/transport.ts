/**
 * Transport: one request goes out, one response with a body that can be streamed comes back.
 *
 * The client needs nothing else from the world, so that the same code speaks over HTTP/2, HTTP/1.1, `fetch`, or to a server in the
 * same process. A transport knows no Kubernetes: an answer with status 500 is an answer.
 */
export interface Transport {
  /**
   * Resolves as soon as the response's head is there. Throws `TransportError` when there is none, and the signal's reason when it
   * aborts; an abort behind the head ends the body with the signal's reason.
   */
  send(request: TransportRequest): Promise<TransportResponse>;

  /**
   * Asks for the connection itself (HTTP/1.1 `Upgrade`): resolves with it when the server agrees, and with an ordinary answer when it does
   * not. Always on a connection of its own. Absent where there are no connections to have.
   */
  upgrade?(request: TransportRequest): Promise<UpgradeResponse>;

  /** Ends all connections. Requests under way fail. */
  close(): Promise<void>;
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Names are lower case. Several values stay several lines: `impersonate-group` means a list. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[]>>;
export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface TransportRequest {
  readonly method: Method;
  /** Path and query, absolute. */
  readonly path: string;
  readonly headers: RequestHeaders;
  readonly body?: string | Uint8Array | undefined;
  /** The answer may be worth packing. Asking for it costs a tenth of a short request. */
  readonly mayBeLong?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface TransportResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: ResponseBody;
}

/** 101: whatever both sides agreed on is spoken from here on. */
export interface UpgradedResponse {
  readonly status: 101;
  readonly headers: ResponseHeaders;
  readonly connection: ByteStream;
}

export type UpgradeResponse = TransportResponse | UpgradedResponse;

export function isUpgraded(response: UpgradeResponse): response is UpgradedResponse {
  return response.status === 101 && "connection" in response;
}

/** Bytes in both directions. Node's `Duplex` is one. */
export interface ByteStream extends AsyncIterable<Uint8Array> {
  /** False: the other side is behind; `drain` says when it is not any more. */
  write(bytes: Uint8Array): boolean;
  end(): unknown;
  destroy(error?: Error): unknown;
  on(event: "drain" | "close" | "end" | "error", listener: (error?: Error) => void): unknown;
}

/** Read once: either as a whole or in chunks. Leaving the iteration early cancels the rest. */
export interface ResponseBody extends AsyncIterable<Uint8Array> {
  /** One that is longer than `bytesMax` is broken off, and an error. */
  text(bytesMax?: number): Promise<string>;
}

export type TransportErrorCode =
  /** No connection could be made: the request was not sent. */
  | "connect"
  /** The server said that it has not looked at the request: safe to send again. */
  | "refused"
  /** The connection broke: whether the request took effect is unknown. */
  | "connection-lost"
  /** Nothing came in the time given. */
  | "timeout"
  /** The transport was closed by its owner. */
  | "closed";

export class TransportError extends Error {
  override readonly name = "TransportError";
  readonly code: TransportErrorCode;

  constructor(code: TransportErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

export function isTransportError(
  error: unknown,
  code?: TransportErrorCode,
): error is TransportError {
  return (
    error instanceof Error &&
    error.name === "TransportError" &&
    (code === undefined || (error as TransportError).code === code)
  );
}

export function headerText(headers: ResponseHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === "string" ? value : value?.join(", ");
}
