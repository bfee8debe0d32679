/** One HTTP/2 stream as a request and its answer. */
import type { X509Certificate } from "node:crypto";
import { BodyError, errorCode, type ServerStream } from "../http2/index.ts";
import {
  type ApiRequest,
  type ApiResponse,
  type HeaderRecord,
  isLending,
  type MaybePromise,
} from "../request/api-request.ts";
import { compressed } from "./compress.ts";
import { incomplete, together, tooLarge } from "./read-body.ts";

/** What all requests of a connection have in common. */
export interface ConnectionFacts {
  readonly remoteAddress: string;
  readonly certificate: () => X509Certificate | undefined;
  /** Now, as HTTP writes it. */
  readonly date: () => string;
}

export class Http2Exchange implements ApiRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderRecord;
  readonly remoteAddress: string;
  readonly clientCertificate: () => X509Certificate | undefined;
  readonly #stream: ServerStream;
  readonly #date: () => string;

  constructor(stream: ServerStream, { remoteAddress, certificate, date }: ConnectionFacts) {
    this.#stream = stream;
    this.#date = date;
    this.method = stream.head.method;
    this.target = stream.head.path;
    this.headers = stream.head.headers;
    this.remoteAddress = remoteAddress;
    this.clientCertificate = certificate;
  }

  get rawHeaders(): readonly string[] {
    return this.#stream.head.fields.flatMap(({ name, value }) => [name, value]);
  }

  onClose(callback: () => void): void {
    const stream = this.#stream;
    stream.onClose(() => stream.isAnswered || callback());
  }

  readBody(bytesMax: number, onPart?: (bytes: number) => void): Promise<Uint8Array> {
    if (this.method === "GET" || this.method === "HEAD") return Promise.resolve(new Uint8Array());
    return new Promise((resolve, reject) => {
      let refusal: unknown;
      const hasRoom = (bytes: number) => {
        try {
          onPart?.(bytes);
          return true;
        } catch (error) {
          refusal = error;
          return false;
        }
      };
      const done = (result: Uint8Array | BodyError) => {
        if (!(result instanceof BodyError)) together(() => resolve(result));
        else if (result.reason === "no-room") reject(refusal);
        else reject(result.reason === "too-large" ? tooLarge(bytesMax) : incomplete);
      };
      this.#stream.readBody(bytesMax, done, onPart === undefined ? undefined : hasRoom);
    });
  }

  run(
    handle: (request: ApiRequest) => MaybePromise<ApiResponse>,
    onDebug: (message: string, error: unknown) => void,
  ): void {
    const fail = (error: unknown) => {
      onDebug("answer failed", error);
      this.#stream.reset(errorCode.internalError);
    };
    this.#stream.whenHere(() => {
      const response = handle(this);
      if (response instanceof Promise)
        response.then((resolved) => this.#respond(resolved)).catch(fail);
      else this.#respond(response)?.catch(fail);
    });
  }

  /** Whole answers are written at once; streams take as long as their reader. */
  #respond(answer: ApiResponse): Promise<void> | undefined {
    const stream = this.#stream;
    if (stream.isClosed) return undefined;
    if (answer.takeOver !== undefined)
      throw new Error("a stream of HTTP/2 is no connection that can be handed over");
    const { status, headers, body } = compressed(answer, this.headers);
    const isWhole = body === undefined || body instanceof Uint8Array;
    headers["date"] ??= this.#date();
    if (isWhole && body !== undefined && this.method !== "HEAD")
      headers["content-length"] = String(body.length);
    if (!isWhole && this.method !== "HEAD") {
      stream.begin(status, headers);
      return this.#pipe(body, answer.pace);
    }
    stream.answer(status, headers, isWhole && this.method !== "HEAD" ? body : undefined);
    return undefined;
  }

  async #pipe(body: AsyncIterable<Uint8Array>, pace: ApiResponse["pace"]): Promise<void> {
    const stream = this.#stream;
    const isLent = isLending(body);
    for await (const part of isLent ? body.lend() : body) {
      const othersFirst = pace?.(part.length);
      if (othersFirst !== undefined) await othersFirst;
      if (stream.isClosed) return;
      if (isLent) {
        stream.write(part);
        if (stream.queuedBytes > 0) await stream.emptied();
      } else if (!stream.write(part)) await stream.writable();
    }
    stream.end();
  }
}
