/**
 * HTTP/2 to one server: streams over as few sessions as the server's limit of streams allows.
 *
 * A session that carries streams is pinged, and destroyed when it does not respond: this ends a
 * watch over a half-open connection, which would otherwise wait for ever. A session that the server
 * is closing (GOAWAY) takes no new streams.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  constants,
  connect as http2Connect,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Socket } from "node:net";
import { awakeDeadline, type Clock, type Timer } from "@kcp-ts/machinery/base";
import {
  onAbort,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from "../client/index.ts";
import { abortable } from "./abortable.ts";
import { acceptedEncoding, type DecodedBody, decodedBody } from "./decoded-body.ts";
import { connectionLostError } from "./stream-body.ts";

export interface Http2Options {
  readonly authority: string;
  /** A connection on which the server has negotiated HTTP/2. */
  readonly connect: () => Promise<Socket>;
  readonly clock: Clock;
  readonly compression: boolean;
  /** How long the server may take to begin the session on a connection. */
  readonly settingsTimeoutMs: number;
  readonly pingIntervalMs: number;
  readonly pingTimeoutMs: number;
}

interface Session {
  readonly http2: ClientHttp2Session;
  streams: number;
  usable: boolean;
  /** A ping is in flight. */
  isProbed: boolean;
  timer: Timer | undefined;
}

const streamsPerSessionMax = 1000;
const windowBytes = 4 << 20;
/**
 * Node's default of ten megabytes would destroy a session that carries a few large lists at a time.
 */
const sessionMemoryMegabytesMax = 256;

export class Http2Connections {
  readonly #options: Http2Options;
  readonly #sessions = new Set<Session>();
  #opening: Promise<Session> | undefined;
  #closed = false;

  constructor(options: Http2Options) {
    this.#options = options;
  }

  send(request: TransportRequest): Promise<TransportResponse> {
    const session = this.#free();
    if (session !== undefined) return this.#exchange(session, request);
    return abortable(this.#open(), request.signal).then((one) => this.#exchange(one, request));
  }

  /**
   * Leaves the open sessions to their streams; new requests get new sessions, with new credentials.
   */
  retire(): void {
    for (const session of this.#sessions) {
      session.usable = false;
      session.http2.close();
    }
  }

  close(): void {
    this.#closed = true;
    for (const session of this.#sessions) session.http2.destroy();
  }

  #free(): Session | undefined {
    for (const session of this.#sessions) {
      const max = session.http2.remoteSettings?.maxConcurrentStreams ?? streamsPerSessionMax;
      if (session.usable && session.streams < Math.min(max, streamsPerSessionMax)) return session;
    }
    return undefined;
  }

  /**
   * Requests that arrive while a session is being opened share it: a burst opens one connection,
   * not a hundred.
   */
  async #open(): Promise<Session> {
    this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    });
    const session = await this.#opening;
    return this.#free() ?? session;
  }

  async #connect(): Promise<Session> {
    const socket = await this.#options.connect();
    if (this.#closed) {
      socket.destroy();
      throw new TransportError("closed", "the transport is closed");
    }
    const http2 = http2Connect(this.#options.authority, {
      createConnection: () => socket,
      settings: { initialWindowSize: windowBytes, enablePush: false },
      maxSessionMemory: sessionMemoryMegabytesMax,
    });
    const session: Session = { http2, streams: 0, usable: true, isProbed: false, timer: undefined };
    await this.#settings(http2);
    if (this.#closed) {
      http2.destroy();
      throw new TransportError("closed", "the transport is closed");
    }
    http2.setLocalWindowSize(windowBytes);
    this.#adopt(session);
    return session;
  }

  /**
   * The server's settings contain its limit of streams; before they arrive the session has no
   * streams that keep it alive. Every request that needs a session waits for them, so a connection
   * that dies here must end by itself.
   */
  async #settings(http2: ClientHttp2Session): Promise<void> {
    const { clock, settingsTimeoutMs } = this.#options;
    let timer: Timer | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        http2.once("remoteSettings", () => resolve());
        http2.once("error", reject);
        http2.once("close", () => reject(new Error("closed before the first settings frame")));
        timer = clock.schedule(settingsTimeoutMs, () =>
          reject(new Error(`no settings frame for ${settingsTimeoutMs} ms`)),
        );
      });
    } catch (error) {
      http2.destroy();
      throw new TransportError("connect", `no HTTP/2 session: ${String(error)}`, error);
    } finally {
      timer?.cancel();
    }
  }

  #adopt(session: Session): void {
    const { http2 } = session;
    const drop = () => {
      session.usable = false;
      session.timer?.cancel();
      this.#sessions.delete(session);
    };
    http2.on("error", drop);
    http2.on("close", drop);
    http2.on("goaway", () => {
      session.usable = false;
    });
    this.#sessions.add(session);
    // A connection without streams must not keep an otherwise idle program alive.
    http2.unref();
  }

  /**
   * Pings as long as the session carries streams: a dead idle session is detected by the next
   * request.
   */
  #keepAlive(session: Session): void {
    session.timer = this.#options.clock.schedule(this.#options.pingIntervalMs, () =>
      this.#probe(session),
    );
  }

  /** Pings once; a session that does not respond in time is destroyed. */
  #probe(session: Session): void {
    const { http2 } = session;
    if (session.isProbed || http2.destroyed || http2.closed) return;
    session.isProbed = true;
    session.timer?.cancel();
    const { clock, pingTimeoutMs } = this.#options;
    session.timer = awakeDeadline(clock, pingTimeoutMs, () => {
      session.usable = false;
      http2.destroy(new Error(`no answer to a ping for ${pingTimeoutMs} ms`));
    });
    http2.ping((error) => {
      session.isProbed = false;
      session.timer?.cancel();
      if (error === null && session.streams > 0) this.#keepAlive(session);
    });
  }

  #began(session: Session): void {
    if (session.streams++ > 0) return;
    session.http2.ref();
    if (!session.isProbed) this.#keepAlive(session);
  }

  /**
   * A request that timed out without a response makes its session suspect: with a timeout shorter
   * than that of the pings, one request after the other would be sent into a dead connection, and
   * each would stop its own check of the connection when it ends.
   */
  #ended(session: Session, wasAnswered: boolean): void {
    if (--session.streams === 0) {
      session.http2.unref();
      if (!session.isProbed) session.timer?.cancel();
    }
    if (!wasAnswered) this.#probe(session);
  }

  #exchange(session: Session, request: TransportRequest): Promise<TransportResponse> {
    const { signal } = request;
    return new Promise((resolve, reject) => {
      let stream: ClientHttp2Stream;
      try {
        stream = session.http2.request(
          headersOf(request, this.#options.compression),
          streamOptionsOf(request),
        );
      } catch (error) {
        // The session closed between the check and the call: nothing was sent.
        session.usable = false;
        reject(new TransportError("refused", "the session no longer takes requests", error));
        return;
      }
      this.#began(session);
      let body: DecodedBody | undefined;
      const cancel = () => stream.close(constants.NGHTTP2_CANCEL);
      const failure = (cause: unknown) =>
        signal?.aborted ? signal.reason : failureOf(stream, request, cause);
      const stopListening = onAbort(signal, () => {
        cancel();
        reject(signal?.reason);
      });
      stream.on("response", (headers) => {
        const isComplete = () => !stream.aborted && stream.rstCode === constants.NGHTTP2_NO_ERROR;
        const contentEncoding = headers["content-encoding"];
        body = decodedBody({ stream, contentEncoding, isComplete, cancel, failure });
        const status = headers[":status"] ?? 0;
        resolve({ status, headers: headers as TransportResponse["headers"], body });
      });
      stream.on("error", (error) => {
        if (body === undefined) reject(failure(error));
        else body.closed(error);
      });
      stream.on("close", () => {
        stopListening();
        this.#ended(session, body !== undefined);
        if (body === undefined) reject(failure(undefined));
        else body.closed();
      });
      if (request.body !== undefined) stream.end(request.body);
    });
  }
}

function headersOf(request: TransportRequest, compression: boolean): OutgoingHttpHeaders {
  const { method, path } = request;
  // In this order: members that are added after a copy cost V8 ten times as much.
  const headers = { ":method": method, ":path": path, ...request.headers } as OutgoingHttpHeaders;
  if (compression && request.mayBeLong === true) headers["accept-encoding"] = acceptedEncoding;
  return headers;
}

/** Node ends the stream of a GET by itself; ending it explicitly costs a microsecond. */
function streamOptionsOf({
  method,
  body,
}: TransportRequest): ClientSessionRequestOptions | undefined {
  return method === "GET" && body === undefined ? undefined : { endStream: body === undefined };
}

function failureOf(
  stream: ClientHttp2Stream,
  request: TransportRequest,
  cause: unknown,
): TransportError {
  if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) {
    return new TransportError("refused", "the server refused the stream", cause);
  }
  return connectionLostError(`${request.method} ${request.path}`, cause);
}
