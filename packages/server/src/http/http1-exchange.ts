/** One HTTP/1.1 request and its answer. */
import type { X509Certificate } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  ApiRequest,
  ApiResponse,
  HeaderRecord,
  MaybePromise,
} from "../request/api-request.ts";
import { compressed } from "./compress.ts";
import { pipe } from "./pipe.ts";
import { readStream } from "./read-body.ts";

export class Http1Exchange implements ApiRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderRecord;
  readonly remoteAddress: string;
  readonly clientCertificate: () => X509Certificate | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    clientCertificate: () => X509Certificate | undefined,
  ) {
    this.#request = request;
    this.#response = response;
    this.method = request.method ?? "GET";
    this.target = request.url ?? "/";
    this.headers = request.headers;
    this.remoteAddress = request.socket.remoteAddress ?? "";
    this.clientCertificate = clientCertificate;
  }

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  onClose(callback: () => void): void {
    const response = this.#response;
    if (response.destroyed) callback();
    else response.once("close", () => response.writableFinished || callback());
  }

  async readBody(bytesMax: number, onPart?: (bytes: number) => void): Promise<Uint8Array> {
    if (this.method === "GET" || this.method === "HEAD") return new Uint8Array();
    return readStream(this.#request, this.headers, bytesMax, onPart);
  }

  run(
    handle: (request: ApiRequest) => MaybePromise<ApiResponse>,
    onDebug: (message: string, error: unknown) => void,
  ): void {
    this.#request.on("error", (error) => onDebug("HTTP/1.1 request failed", error));
    this.#response.on("error", (error) => onDebug("HTTP/1.1 answer failed", error));
    const fail = (error: unknown) => {
      onDebug("answer failed", error);
      this.#response.destroy();
    };
    const response = handle(this);
    if (response instanceof Promise)
      response.then((resolved) => this.#respond(resolved)).catch(fail);
    else this.#respond(response)?.catch(fail);
  }

  /** Whole answers are written at once; streams take as long as their reader. */
  #respond(answer: ApiResponse): Promise<void> | undefined {
    const response = this.#response;
    if (response.destroyed) return undefined;
    const { status, headers, body } = compressed(answer, this.headers);
    // A body that was not read to its end would be taken for the next request.
    if (!this.#request.complete && this.#hasBody()) response.setHeader("connection", "close");
    if (body instanceof Uint8Array) headers["content-length"] = String(body.length);
    response.writeHead(status, headers);
    if (body !== undefined && this.method !== "HEAD" && !(body instanceof Uint8Array))
      return this.#pipe(body, answer.pace);
    response.end(this.method === "HEAD" ? undefined : body);
    return undefined;
  }

  #hasBody(): boolean {
    const { "content-length": length, "transfer-encoding": coding } = this.headers;
    return coding !== undefined || Number(length ?? 0) > 0;
  }

  async #pipe(body: AsyncIterable<Uint8Array>, pace: ApiResponse["pace"]): Promise<void> {
    this.#response.flushHeaders();
    await pipe(body, this.#response, pace);
    this.#response.end();
  }
}
