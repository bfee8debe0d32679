/** One HTTP/2 stream as a request and its answer. */
import type { X509Certificate } from "node:crypto";
import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type {
  ApiRequest,
  ApiResponse,
  HeaderRecord,
  MaybePromise,
} from "../request/api-request.ts";
import { compressed } from "./compress.ts";
import { pipe } from "./pipe.ts";
import { readStream } from "./read-body.ts";

export class Http2Exchange implements ApiRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderRecord;
  readonly remoteAddress: string;
  readonly clientCertificate: () => X509Certificate | undefined;
  readonly #stream: ServerHttp2Stream;
  #isAnswered = false;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    remoteAddress: string,
    clientCertificate: () => X509Certificate | undefined,
  ) {
    this.#stream = stream;
    this.method = headers[":method"] as string;
    this.target = headers[":path"] ?? "/";
    this.headers = headers;
    this.remoteAddress = remoteAddress;
    this.clientCertificate = clientCertificate;
  }

  onClose(callback: () => void): void {
    if (this.#stream.closed) callback();
    else this.#stream.once("close", () => this.#isAnswered || callback());
  }

  async readBody(bytesMax: number, onPart?: (bytes: number) => void): Promise<Uint8Array> {
    if (this.method === "GET" || this.method === "HEAD") return new Uint8Array();
    return readStream(this.#stream, this.headers, bytesMax, onPart);
  }

  run(
    handle: (request: ApiRequest) => MaybePromise<ApiResponse>,
    onDebug: (message: string, error: unknown) => void,
  ): void {
    this.#stream.on("error", (error) => onDebug("HTTP/2 stream failed", error));
    const fail = (error: unknown) => {
      onDebug("answer failed", error);
      this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    };
    const response = handle(this);
    if (response instanceof Promise)
      response.then((resolved) => this.#respond(resolved)).catch(fail);
    else this.#respond(response)?.catch(fail);
  }

  /** Whole answers are written at once; streams take as long as their reader. */
  #respond(answer: ApiResponse): Promise<void> | undefined {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return undefined;
    const { status, headers, body } = compressed(answer, this.headers);
    headers[":status"] = String(status);
    if (body !== undefined && !(body instanceof Uint8Array) && this.method !== "HEAD") {
      stream.respond(headers);
      return this.#pipe(body, answer.pace);
    }
    this.#isAnswered = true;
    this.#send(headers, this.method === "HEAD" ? undefined : (body as Uint8Array | undefined));
    this.#refuseRest();
    return undefined;
  }

  #send(headers: OutgoingHttpHeaders, body: Uint8Array | undefined): void {
    const stream = this.#stream;
    if (body === undefined) {
      stream.respond(headers, { endStream: true });
      return;
    }
    headers["content-length"] = String(body.length);
    stream.respond(headers);
    if (this.method === "GET") stream.end(body);
    // A stream whose request body was read is destroyed by Node before its last write is acknowledged, and an error with a stack is
    // made for each: ending it one step later costs half as much.
    else stream.write(body, (error) => error ?? stream.end());
  }

  /**
   * What is left of a body that nobody wants is not read: flow control holds the client back, and once the answer is out it is told
   * to stop (RFC 9113, 8.1).
   */
  #refuseRest(): void {
    const stream = this.#stream;
    if (stream.endAfterHeaders || stream.readableEnded) return;
    const stop = () => stream.close(constants.NGHTTP2_NO_ERROR);
    if (stream.writableFinished) stop();
    else stream.once("finish", stop);
  }

  async #pipe(body: AsyncIterable<Uint8Array>, pace: ApiResponse["pace"]): Promise<void> {
    await pipe(body, this.#stream, pace);
    this.#isAnswered = true;
    this.#stream.end();
    this.#refuseRest();
  }
}
