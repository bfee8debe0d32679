/** One HTTP/1.1 request and its response, or the upgraded connection. */
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

/** The state that the requests of one connection share. */
export class Http1Connection {
  readonly unread: UnreadResponseBudget;
  /** Whether the last response may be unread for any time: a watch, or an upgraded connection. */
  isStreaming = false;
  /** Other responses that are being sent: a client may pipeline requests. */
  pendingResponses = 0;
  readonly onAuthenticated: (username: string) => void;
  readonly certificate: X509Certificate | undefined;
  /** Requests whose response has not ended. */
  #open = 0;
  /** Whether a request has begun since the last check. */
  #hasBegun = false;

  constructor(
    unread: UnreadResponseBudget,
    onAuthenticated: (username: string) => void,
    certificate: X509Certificate | undefined,
  ) {
    this.unread = unread;
    this.onAuthenticated = onAuthenticated;
    this.certificate = certificate;
  }

  begin(response: ServerResponse): void {
    this.#open++;
    this.#hasBegun = true;
    response.once("close", () => {
      this.#open--;
    });
  }

  /** Whether a request is in flight, or has begun since the last check. */
  get isBusy(): boolean {
    const isBusy = this.#open > 0 || this.isStreaming || this.#hasBegun;
    this.#hasBegun = false;
    return isBusy;
  }

  get isExemptFromStallCheck(): boolean {
    return this.isStreaming && this.pendingResponses === 0;
  }
}

export class Http1ApiRequest implements ApiRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderRecord;
  readonly remoteAddress: string;
  readonly clientCertificate: X509Certificate | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #connectionInfo: Http1Connection;
  /** Set for an upgrade request: the connection, which carries only the new protocol afterwards. */
  readonly #connection: Socket | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    facts: Http1Connection,
    connection?: Socket,
  ) {
    this.#request = request;
    this.#response = response;
    this.#connection = connection;
    this.#connectionInfo = facts;
    this.method = request.method ?? "GET";
    this.target = request.url ?? "/";
    this.headers = request.headers;
    this.remoteAddress = request.socket.remoteAddress ?? "";
    this.clientCertificate = facts.certificate;
  }

  onAuthenticated(username: string): void {
    this.#connectionInfo.onAuthenticated(username);
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
      // The bytes after an upgrade request belong to the new protocol.
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
    // A synchronous error fails this response, not the process.
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
    if (answer.onUpgrade !== undefined) {
      this.#upgrade(answer, answer.onUpgrade);
      return undefined;
    }
    const isHead = this.method === "HEAD";
    if (isHead) cancelBody(answer.body);
    const { status, headers, body } = isHead ? answer : compressResponse(answer, this.headers);
    // The rest of an unread body would be parsed as the next request.
    const isUnread = !this.#request.complete && this.#hasBody();
    if (isUnread || this.#connection !== undefined) response.setHeader("connection", "close");
    if (body instanceof Uint8Array) headers["content-length"] = String(body.length);
    response.writeHead(status, sentHeaders(headers));
    this.#connectionInfo.isStreaming = answer.isWatch === true;
    if (body === undefined || isHead) response.end();
    else if (!(body instanceof Uint8Array)) return this.#pipe(body, answer);
    else if (body.length > chunkBytesMax) return this.#pipeBuffer(body);
    else response.end(body);
    return undefined;
  }

  #upgrade(
    { status, headers }: ApiResponse,
    takeOver: NonNullable<ApiResponse["onUpgrade"]>,
  ): void {
    const response = this.#response;
    const connection = this.#connection;
    if (connection === undefined)
      throw new Error("the response upgrades a connection, and the client did not request it");
    response.writeHead(status, sentHeaders(headers));
    response.flushHeaders();
    response.detachSocket(connection);
    takeOver(connection);
  }

  #hasBody(): boolean {
    const { "content-length": length, "transfer-encoding": coding } = this.headers;
    return coding !== undefined || Number(length ?? 0) > 0;
  }

  /** Writes in chunks, so that the progress of the reader is visible. */
  async #pipeBuffer(body: Uint8Array): Promise<void> {
    const { unread } = this.#connectionInfo;
    this.#connectionInfo.pendingResponses++;
    unread.bytes += body.length;
    try {
      await pipe(splitChunks(body), this.#response);
    } finally {
      unread.bytes -= body.length;
      this.#connectionInfo.pendingResponses--;
    }
    this.#response.end();
  }

  async #pipe(
    body: AsyncIterable<Uint8Array>,
    {
      throttle,
      isWatch,
      onSent,
      unread,
    }: Pick<ApiResponse, "throttle" | "isWatch" | "onSent" | "unread">,
  ): Promise<void> {
    const counted = isWatch === true ? 0 : 1;
    if (unread !== undefined) unread.onReset = () => this.#response.destroy();
    this.#connectionInfo.pendingResponses += counted;
    this.#response.flushHeaders();
    try {
      const bytes = await pipe(body, this.#response, { throttle, unread });
      onSent?.(bytes);
    } finally {
      this.#connectionInfo.pendingResponses -= counted;
      // The rest of a watch that has ended is a response like any other: its reader has a timeout.
      if (isWatch === true) this.#connectionInfo.isStreaming = false;
    }
    this.#response.end();
  }
}
