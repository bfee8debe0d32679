/** One HTTP/2 stream as a request and its response. */
import type { X509Certificate } from "node:crypto";
import { resumeTogether } from "../event-loop/index.ts";
import { BodyError, errorCode, type ServerStream } from "../http2/index.ts";
import {
  type ApiRequest,
  type ApiResponse,
  type CallbackBody,
  cancelBody,
  type HeaderRecord,
  isBufferReusing,
  isCallbackBody,
  type MaybePromise,
  untilPaced,
} from "../request/api-request.ts";
import { compressBytesMin, compressResponse } from "./compress.ts";
import { bodyTooLarge, incompleteBody } from "./read-body.ts";

/** The state that all requests of a connection share. */
export interface ConnectionInfo {
  readonly onAuthenticated: (username: string) => void;
  readonly remoteAddress: string;
  readonly certificate: X509Certificate | undefined;
  /** The current time in HTTP's format. */
  readonly date: () => string;
}

export class Http2ApiRequest implements ApiRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderRecord;
  readonly remoteAddress: string;
  readonly clientCertificate: X509Certificate | undefined;
  readonly #stream: ServerStream;
  readonly #date: () => string;
  readonly onAuthenticated: (username: string) => void;

  constructor(stream: ServerStream, facts: ConnectionInfo) {
    const { remoteAddress, certificate, date, onAuthenticated } = facts;
    this.#stream = stream;
    this.onAuthenticated = onAuthenticated;
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
    stream.onClose(() => stream.isResponseSent || callback());
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
        if (!(result instanceof BodyError)) resumeTogether(() => resolve(result));
        else if (result.reason === "no-room") reject(refusal);
        else reject(result.reason === "too-large" ? bodyTooLarge(bytesMax) : incompleteBody);
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
    // A synchronous error fails this response, not the connection or the process.
    try {
      const response = handle(this);
      if (response instanceof Promise)
        response.then((resolved) => this.#respond(resolved)).catch(fail);
      else this.#respond(response)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  /** Complete responses are written at once; streams take as long as their reader. */
  #respond(answer: ApiResponse): Promise<void> | undefined {
    if (answer.onUpgrade !== undefined)
      throw new Error("a stream of HTTP/2 is no connection that can be handed over");
    const isHead = this.method === "HEAD";
    if (isHead || this.#stream.isClosed) cancelBody(answer.body);
    if (this.#stream.isClosed) return undefined;
    const isSmall = answer.body instanceof Uint8Array && answer.body.length <= compressBytesMin;
    const isPlain = isHead || isSmall || answer.isWatch === true;
    const { status, headers, body } = isPlain ? answer : compressResponse(answer, this.headers);
    headers["date"] ??= this.#date();
    if (isHead) this.#stream.respond(status, headers, undefined);
    else if (body === undefined || body instanceof Uint8Array) {
      if (body !== undefined) headers["content-length"] = String(body.length);
      this.#stream.respond(status, headers, body);
    } else return this.#send(status, headers, body, answer);
    return undefined;
  }

  #send(
    status: number,
    headers: ApiResponse["headers"],
    body: AsyncIterable<Uint8Array>,
    answer: ApiResponse,
  ): Promise<void> {
    const stream = this.#stream;
    if (answer.isWatch === true) stream.isWatch = true;
    const { unread } = answer;
    if (unread !== undefined) {
      stream.unread = unread;
      unread.onReset = () => stream.reset(errorCode.cancel);
    }
    stream.writeHead(status, headers);
    return isCallbackBody(body) ? this.#follow(body, answer) : this.#pipe(body, answer);
  }

  /** Writes the initial chunks at the throttle of its reader, and then each event as it arrives. */
  async #follow(body: CallbackBody, { throttle }: ApiResponse): Promise<void> {
    const stream = this.#stream;
    try {
      for await (const part of body.initialChunks()) {
        if (throttle !== undefined) await untilPaced(throttle, part.length);
        if (stream.isClosed) return;
        if (!stream.write(part)) await stream.writable();
      }
      await new Promise<void>((resolve, reject) => {
        stream.onClose(resolve);
        follow(body, stream, throttle, { resolve, reject });
      });
    } finally {
      await body.cancel();
    }
    stream.end();
  }

  async #pipe(
    body: AsyncIterable<Uint8Array>,
    { throttle, onSent }: Pick<ApiResponse, "throttle" | "onSent">,
  ): Promise<void> {
    const stream = this.#stream;
    const isLent = isBufferReusing(body);
    let bytes = 0;
    for await (const part of isLent ? body.reusingBuffer() : body) {
      bytes += part.length;
      if (throttle !== undefined) await untilPaced(throttle, part.length);
      if (stream.isClosed) return;
      if (isLent) {
        stream.write(part);
        if (stream.queuedBytes > 0) await stream.drained();
      } else if (!stream.write(part)) await stream.writable();
    }
    stream.end();
    onSent?.(bytes);
  }
}

/**
 * Called on new data, on permission to write, and on buffer space: the stream allocates nothing
 * while it waits.
 */
function follow(
  body: CallbackBody,
  stream: ServerStream,
  pace: ApiResponse["throttle"],
  { resolve, reject }: { readonly resolve: () => void; readonly reject: (error: unknown) => void },
): void {
  /** Whether the stream waits for its turn or for buffer space. */
  let isWaiting = false;
  const ask = () => {
    while (!isWaiting && !stream.isClosed) {
      const { readableBytes } = body;
      if (readableBytes === 0) return;
      if (pace !== undefined && !pace(readableBytes, go)) {
        isWaiting = true;
        return;
      }
      if (!write()) return;
    }
  };
  const go = () => {
    isWaiting = false;
    if (write()) ask();
  };
  /** Returns whether there may be more to write at once. */
  const write = (): boolean => {
    try {
      const part = stream.isClosed ? "over" : body.read();
      if (part === "over") resolve();
      if (part === "over" || part === undefined) return false;
      if (stream.write(part)) return true;
      isWaiting = true;
      stream.writable().then(() => {
        isWaiting = false;
        ask();
      }, reject);
    } catch (error) {
      reject(error);
    }
    return false;
  };
  // Data of one turn is written together.
  let isCalled = false;
  const whenAllIsThere = () => {
    isCalled = false;
    ask();
  };
  body.onReadable(() => {
    if (isCalled || isWaiting) return;
    isCalled = true;
    void done.then(whenAllIsThere);
  });
  ask();
}

const done = Promise.resolve();
