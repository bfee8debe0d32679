/** One HTTP/1.1 request and its answer, or the connection in place of one. */
import type { X509Certificate } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { statusError } from "@kcp-ts/machinery/status";
import type { UnreadResponseBudget } from "../event-loop/index.ts";
import {
  type ApiRequest,
  type ApiResponse,
  cancelBody,
  type HeaderRecord,
  type MaybePromise,
  sentHeaders,
} from "../request/api-request.ts";
import { compressResponse } from "./compress.ts";
import { chunkBytesMax, pipe, splitChunks } from "./pipe.ts";
import { readStream } from "./read-body.ts";

/** What the requests of one connection have in common. */
export class Http1Connection {
  readonly unread: UnreadResponseBudget;
  /** What was begun last may wait for its reader as long as it likes: a watch, or no HTTP at all. */
  isWatched = false;
  /** Other answers that are being sent: a client may send requests without waiting for answers. */
  answers = 0;
  readonly onAuthenticated: (username: string) => void;
  /** Requests without an end of their answers. */
  #open = 0;
  /** One has begun since it was last looked. */
  #hasBegun = false;

  constructor(unread: UnreadResponseBudget, onAuthenticated: (username: string) => void) {
    this.unread = unread;
    this.onAuthenticated = onAuthenticated;
  }

  begin(response: ServerResponse): void {
    this.#open++;
    this.#hasBegun = true;
    response.once("close", () => {
      this.#open--;
    });
  }

  /** Something is open on it, or was asked since this was last looked at. */
  get isBusy(): boolean {
    const isBusy = this.#open > 0 || this.isWatched || this.#hasBegun;
    this.#hasBegun = false;
    return isBusy;
  }

  get isHeldOpen(): boolean {
    return this.isWatched && this.answers === 0;
  }
}

export class Http1ApiRequest implements ApiRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderRecord;
  readonly remoteAddress: string;
  readonly clientCertificate: () => X509Certificate | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #facts: Http1Connection;
  /** Set when the request asks for an upgrade: the connection, which nothing follows on but what is agreed upon. */
  readonly #connection: Socket | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    clientCertificate: () => X509Certificate | undefined,
    facts: Http1Connection,
    connection?: Socket,
  ) {
    this.#request = request;
    this.#response = response;
    this.#connection = connection;
    this.#facts = facts;
    this.method = request.method ?? "GET";
    this.target = request.url ?? "/";
    this.headers = request.headers;
    this.remoteAddress = request.socket.remoteAddress ?? "";
    this.clientCertificate = clientCertificate;
  }

  onAuthenticated(username: string): void {
    this.#facts.onAuthenticated(username);
  }

  get rawHeaders(): readonly string[] {
    return this.#request.rawHeaders;
  }

  onClose(callback: () => void): void {
    const response = this.#response;
    const connection = this.#connection;
    if (connection?.destroyed ?? response.destroyed) callback();
    else if (connection !== undefined)
      connection.once("close", () => response.writableFinished || callback());
    else response.once("close", () => response.writableFinished || callback());
  }

  async readBody(bytesMax: number, onPart?: (bytes: number) => void): Promise<Uint8Array> {
    if (this.method === "GET" || this.method === "HEAD") return new Uint8Array();
    if (this.#connection !== undefined) {
      // What follows such a request belongs to the protocol that it asks for.
      if (this.#hasBody()) throw statusError.badRequest("a request for an upgrade has no body");
      return new Uint8Array();
    }
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
    // What throws at once fails this answer, not the process.
    try {
      const response = handle(this);
      if (response instanceof Promise)
        response.then((resolved) => this.#respond(resolved)).catch(fail);
      else this.#respond(response)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  /** Whole answers are written at once; streams take as long as their reader. */
  #respond(answer: ApiResponse): Promise<void> | undefined {
    const isGone = this.#response.destroyed || this.#connection?.destroyed === true;
    if (isGone) cancelBody(answer.body);
    if (isGone) return undefined;
    try {
      return this.#write(answer);
    } catch (error) {
      cancelBody(answer.body);
      throw error;
    }
  }

  #write(answer: ApiResponse): Promise<void> | undefined {
    const response = this.#response;
    if (answer.takeOver !== undefined) {
      this.#handOver(answer, answer.takeOver);
      return undefined;
    }
    const isHead = this.method === "HEAD";
    if (isHead) cancelBody(answer.body);
    const { status, headers, body } = isHead ? answer : compressResponse(answer, this.headers);
    // A body that was not read to its end would be taken for the next request.
    const isUnread = !this.#request.complete && this.#hasBody();
    if (isUnread || this.#connection !== undefined) response.setHeader("connection", "close");
    if (body instanceof Uint8Array) headers["content-length"] = String(body.length);
    response.writeHead(status, sentHeaders(headers));
    this.#facts.isWatched = answer.isWatch === true;
    if (body === undefined || isHead) response.end();
    else if (!(body instanceof Uint8Array)) return this.#pipe(body, answer);
    else if (body.length > chunkBytesMax) return this.#pipeWhole(body);
    else response.end(body);
    return undefined;
  }

  #handOver(
    { status, headers }: ApiResponse,
    takeOver: NonNullable<ApiResponse["takeOver"]>,
  ): void {
    const response = this.#response;
    const connection = this.#connection;
    if (connection === undefined) throw new Error("a connection was taken that nobody offered");
    response.writeHead(status, sentHeaders(headers));
    response.flushHeaders();
    response.detachSocket(connection);
    takeOver(connection);
  }

  #hasBody(): boolean {
    const { "content-length": length, "transfer-encoding": coding } = this.headers;
    return coding !== undefined || Number(length ?? 0) > 0;
  }

  /** In pieces, so that it shows whether its reader reads. */
  async #pipeWhole(body: Uint8Array): Promise<void> {
    const { unread } = this.#facts;
    this.#facts.answers++;
    unread.bytes += body.length;
    try {
      await pipe(splitChunks(body), this.#response);
    } finally {
      unread.bytes -= body.length;
      this.#facts.answers--;
    }
    this.#response.end();
  }

  async #pipe(
    body: AsyncIterable<Uint8Array>,
    { pace, isWatch, onSent, unread }: Pick<ApiResponse, "pace" | "isWatch" | "onSent" | "unread">,
  ): Promise<void> {
    const counted = isWatch === true ? 0 : 1;
    if (unread !== undefined) unread.onCut = () => this.#response.destroy();
    this.#facts.answers += counted;
    this.#response.flushHeaders();
    try {
      const bytes = await pipe(body, this.#response, { pace, unread });
      onSent?.(bytes);
    } finally {
      this.#facts.answers -= counted;
      // What is left of a watch that is over is an answer like any other: it may not wait for ever.
      if (isWatch === true) this.#facts.isWatched = false;
    }
    this.#response.end();
  }
}
