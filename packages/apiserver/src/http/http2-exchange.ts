/** One HTTP/2 stream as a request and its answer. */
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

/** What all requests of a connection have in common. */
export interface ConnectionInfo {
  readonly onAuthenticated: (username: string) => void;
  readonly remoteAddress: string;
  readonly certificate: () => X509Certificate | undefined;
  /** Now, as HTTP writes it. */
  readonly date: () => string;
}

export class Http2ApiRequest implements ApiRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderRecord;
  readonly remoteAddress: string;
  readonly clientCertificate: () => X509Certificate | undefined;
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
    this.#stream.whenHere(() => {
      // What throws at once fails this answer, not the connection or the process.
      try {
        const response = handle(this);
        if (response instanceof Promise)
          response.then((resolved) => this.#respond(resolved)).catch(fail);
        else this.#respond(response)?.catch(fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  /** Whole answers are written at once; streams take as long as their reader. */
  #respond(answer: ApiResponse): Promise<void> | undefined {
    if (answer.takeOver !== undefined)
      throw new Error("a stream of HTTP/2 is no connection that can be handed over");
    const isHead = this.method === "HEAD";
    if (isHead || this.#stream.isClosed) cancelBody(answer.body);
    if (this.#stream.isClosed) return undefined;
    const isSmall = answer.body instanceof Uint8Array && answer.body.length <= compressBytesMin;
    const { status, headers, body } =
      isHead || isSmall ? answer : compressResponse(answer, this.headers);
    headers["date"] ??= this.#date();
    if (isHead) this.#stream.answer(status, headers, undefined);
    else return this.#write(status, headers, body, answer);
    return undefined;
  }

  #write(
    status: number,
    headers: ApiResponse["headers"],
    body: ApiResponse["body"],
    answer: ApiResponse,
  ): Promise<void> | undefined {
    const stream = this.#stream;
    if (answer.isWatch === true) stream.isWatch = true;
    const { unread } = answer;
    if (unread !== undefined) {
      stream.unread = unread;
      unread.onCut = () => stream.reset(errorCode.cancel);
    }
    if (body === undefined || body instanceof Uint8Array) {
      if (body !== undefined) headers["content-length"] = String(body.length);
      stream.answer(status, headers, body);
      return undefined;
    }
    stream.begin(status, headers);
    return isCallbackBody(body) ? this.#follow(body, answer) : this.#pipe(body, answer);
  }

  /** Its beginning at the pace of its reader, and then what comes when it comes. */
  async #follow(body: CallbackBody, { pace }: ApiResponse): Promise<void> {
    const stream = this.#stream;
    try {
      for await (const part of body.beginning()) {
        if (pace !== undefined) await untilPaced(pace, part.length);
        if (stream.isClosed) return;
        if (!stream.write(part)) await stream.writable();
      }
      await new Promise<void>((resolve, reject) => {
        stream.onClose(resolve);
        follow(body, stream, pace, { resolve, reject });
      });
    } finally {
      await body.leave();
    }
    stream.end();
  }

  async #pipe(
    body: AsyncIterable<Uint8Array>,
    { pace, onSent }: Pick<ApiResponse, "pace" | "onSent">,
  ): Promise<void> {
    const stream = this.#stream;
    const isLent = isBufferReusing(body);
    let bytes = 0;
    for await (const part of isLent ? body.lend() : body) {
      bytes += part.length;
      if (pace !== undefined) await untilPaced(pace, part.length);
      if (stream.isClosed) return;
      if (isLent) {
        stream.write(part);
        if (stream.queuedBytes > 0) await stream.emptied();
      } else if (!stream.write(part)) await stream.writable();
    }
    stream.end();
    onSent?.(bytes);
  }
}

/** Called when there is something, when it may be written, and when there is room for more: nothing is made for it while it waits. */
function follow(
  body: CallbackBody,
  stream: ServerStream,
  pace: ApiResponse["pace"],
  { resolve, reject }: { readonly resolve: () => void; readonly reject: (error: unknown) => void },
): void {
  /** It has asked for its turn, or waits for room. */
  let isWaiting = false;
  const ask = () => {
    while (!isWaiting && !stream.isClosed) {
      const { readyBytes } = body;
      if (readyBytes === 0) return;
      if (pace !== undefined && !pace(readyBytes, go)) {
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
  /** Whether there may be more to write at once. */
  const write = (): boolean => {
    try {
      const part = stream.isClosed ? "over" : body.take();
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
  // What comes in one turn is written together.
  let isCalled = false;
  const whenAllIsThere = () => {
    isCalled = false;
    ask();
  };
  body.follow(() => {
    if (isCalled || isWaiting) return;
    isCalled = true;
    void done.then(whenAllIsThere);
  });
  ask();
}

const done = Promise.resolve();
