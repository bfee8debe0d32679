/** One HTTP/2 stream as a request and its answer. */
import type { X509Certificate } from "node:crypto";
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { ApiRequest, ApiResponse, HeaderRecord } from "../request/api-request.ts";
import { compressed } from "./compress.ts";
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

  async readBody(bytesMax: number): Promise<Uint8Array> {
    if (this.method === "GET" || this.method === "HEAD") return new Uint8Array();
    return readStream(this.#stream, this.headers, bytesMax);
  }

  run(
    handle: (request: ApiRequest) => Promise<ApiResponse>,
    onDebug: (message: string, error: unknown) => void,
  ): void {
    this.#stream.on("error", (error) => onDebug("HTTP/2 stream failed", error));
    handle(this)
      .then((response) => this.#respond(response))
      .catch((error) => {
        onDebug("answer failed", error);
        this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      });
  }

  async #respond(answer: ApiResponse): Promise<void> {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    const { status, headers, body } = compressed(answer, this.headers);
    headers[":status"] = String(status);
    if (body === undefined || this.method === "HEAD") {
      this.#isAnswered = true;
      stream.respond(headers, { endStream: true });
    } else if (body instanceof Uint8Array) {
      headers["content-length"] = String(body.length);
      this.#isAnswered = true;
      stream.respond(headers);
      stream.end(body);
    } else {
      stream.respond(headers);
      await this.#pipe(body);
    }
    this.#refuseRest();
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

  async #pipe(body: AsyncIterable<Uint8Array>): Promise<void> {
    const stream = this.#stream;
    for await (const chunk of body) {
      if (stream.destroyed || stream.closed) return;
      if (!stream.write(chunk)) await drained(stream);
    }
    this.#isAnswered = true;
    stream.end();
  }
}

function drained(stream: ServerHttp2Stream): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.on("drain", done);
    stream.on("close", done);
    if (stream.destroyed) done();
  });
}
