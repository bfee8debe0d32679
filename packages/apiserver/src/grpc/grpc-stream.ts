/**
 * One gRPC call on one HTTP/2 stream: messages out, messages in, and exactly one end.
 *
 * The end is `undefined` for status OK and a `GrpcError` for everything else: an error status, a
 * peer that does not speak gRPC, a reset, a lost connection. Deadlines and retries belong to the
 * callers.
 */
import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from "node:http2";
import { encodeFrame, FrameReader } from "./frames.ts";
import { codeOfHttpStatus, decodeGrpcMessage, GrpcError, grpcCode } from "./grpc-error.ts";

export interface GrpcStreamHandlers {
  onMessage(message: Uint8Array): void;
  onEnd(error: GrpcError | undefined): void;
  /** Called on any received data: the peer is alive. */
  onActivity(): void;
}

export class GrpcStream {
  readonly #stream: ClientHttp2Stream;
  readonly #frames: FrameReader;
  readonly #handlers: GrpcStreamHandlers;
  #headers: (IncomingHttpHeaders & IncomingHttpStatusHeader) | undefined;
  #trailers: IncomingHttpHeaders | undefined;
  #cause: unknown;
  #ended = false;

  constructor(stream: ClientHttp2Stream, messageBytesMax: number, handlers: GrpcStreamHandlers) {
    this.#stream = stream;
    this.#frames = new FrameReader(messageBytesMax);
    this.#handlers = handlers;
    stream.on("response", (headers) => {
      this.#headers = headers;
      handlers.onActivity();
      if (!isGrpc(headers)) this.abort(notGrpc(headers));
    });
    stream.on("trailers", (trailers) => {
      this.#trailers = trailers;
      handlers.onActivity();
    });
    stream.on("data", (bytes: Buffer) => this.#read(bytes));
    stream.on("error", (error) => {
      this.#cause = error;
    });
    stream.on("close", () => this.#finish(this.#outcome()));
  }

  send(message: Uint8Array): void {
    if (!this.#ended && !this.#stream.destroyed) this.#stream.write(encodeFrame(message));
  }

  sendLast(message: Uint8Array): void {
    if (!this.#ended && !this.#stream.destroyed) this.#stream.end(encodeFrame(message));
  }

  /** Ends the call now with `error`, and resets the stream. */
  abort(error: GrpcError): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#finish(error);
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  #read(bytes: Buffer): void {
    this.#handlers.onActivity();
    if (this.#ended) return;
    try {
      for (const message of this.#frames.push(bytes)) {
        if (!this.#ended) this.#handlers.onMessage(message);
      }
    } catch (error) {
      this.abort(
        error instanceof GrpcError
          ? error
          : new GrpcError(grpcCode.internal, String(error), "unknown", error),
      );
    }
  }

  #finish(error: GrpcError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#handlers.onEnd(error);
  }

  #outcome(): GrpcError | undefined {
    // A trailers-only response has its status in the headers.
    const status = this.#trailers?.["grpc-status"] ?? this.#headers?.["grpc-status"];
    if (status === undefined) return this.#withoutStatus();
    const code = Number(status);
    if (code === grpcCode.ok) {
      if (this.#frames.atBoundary) return undefined;
      return new GrpcError(grpcCode.internal, "the answer ends inside a message", "unknown");
    }
    const source = this.#trailers?.["grpc-status"] === undefined ? this.#headers : this.#trailers;
    const message = decodeGrpcMessage(String(source?.["grpc-message"] ?? ""));
    const known = Number.isInteger(code) && code > 0 && code <= 16;
    return new GrpcError(known ? code : grpcCode.unknown, message, known ? "answered" : "unknown");
  }

  #withoutStatus(): GrpcError {
    const { rstCode } = this.#stream;
    const text = this.#cause instanceof Error ? this.#cause.message : "";
    // RFC 9113 section 8.7: a refused stream was not processed. Without an id it never left this
    // process.
    const untouched = rstCode === constants.NGHTTP2_REFUSED_STREAM || this.#stream.id === undefined;
    const what =
      rstCode === constants.NGHTTP2_NO_ERROR && text === ""
        ? "the stream ended without a status"
        : `the stream was reset (code ${rstCode})${text === "" ? "" : `: ${text}`}`;
    return new GrpcError(
      grpcCode.unavailable,
      what,
      untouched ? "not-sent" : "unknown",
      this.#cause,
    );
  }
}

function isGrpc(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): boolean {
  return (
    headers[":status"] === 200 &&
    (headers["grpc-status"] !== undefined ||
      (headers["content-type"] ?? "").startsWith("application/grpc"))
  );
}

function notGrpc(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): GrpcError {
  const status = headers[":status"] ?? 0;
  const type = String(headers["content-type"] ?? "no content type").slice(0, 100);
  return new GrpcError(
    codeOfHttpStatus(status),
    `the peer answers HTTP ${status} (${type}), which is not gRPC`,
    "unknown",
  );
}
