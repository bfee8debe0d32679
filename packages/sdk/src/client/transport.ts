/**
 * Transport: sends one request, and returns one response with a body that can be streamed.
 *
 * The client has no other dependency on its environment, so the same code works over HTTP/2,
 * HTTP/1.1, `fetch`, and with a server in the same process. A transport knows no Kubernetes: a
 * response with status 500 is a response.
 */
export interface Transport {
  /**
   * Resolves as soon as the response's head has arrived. Throws `TransportError` when there is no
   * response, and the signal's reason when the signal aborts; an abort after the head ends the body
   * with the signal's reason.
   */
  send(request: TransportRequest): Promise<TransportResponse>;

  /**
   * Requests the connection itself (HTTP/1.1 `Upgrade`): resolves with the connection when the
   * server agrees, and with an ordinary response when it does not. Always uses a connection of its
   * own. Absent on transports without connections.
   */
  upgrade?(request: TransportRequest): Promise<UpgradeResponse>;

  /** Closes all connections. Requests in flight fail. */
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
  /**
   * The response may be worth compressing. Requesting compression costs a tenth of a short request.
   */
  readonly mayBeLong?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface TransportResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: ResponseBody;
}

/** Status 101: both sides speak the agreed protocol from here on. */
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
  /** False: the peer is slower than the writer; `drain` is emitted when writing may go on. */
  write(bytes: Uint8Array): boolean;
  end(): unknown;
  destroy(error?: Error): unknown;
  on(event: "drain" | "close" | "end" | "error", listener: (error?: Error) => void): unknown;
}

/** Read once: either in full or in chunks. Leaving the iteration early cancels the rest. */
export interface ResponseBody extends AsyncIterable<Uint8Array> {
  /** A body longer than `bytesMax` is cancelled, and an error. */
  text(bytesMax?: number): Promise<string>;
}

export type TransportErrorCode =
  /** No connection could be made: the request was not sent. */
  | "connect"
  /** The server reported that it did not process the request: safe to retry. */
  | "refused"
  /** The connection broke: whether the request took effect is unknown. */
  | "connection-lost"
  /** No response arrived within the timeout. */
  | "timeout"
  /** The transport was closed by its owner. */
  | "closed";

export class TransportError extends Error {
  /** A build may shorten the name of the class, which uncaught errors are printed with. */
  static override readonly name: string = "TransportError";
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
