/**
 * One HTTP/2 connection to one endpoint: calls, keepalive, and retirement.
 *
 * A connection never reconnects. `Channel` decides which connection is used.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  connect,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { Clock } from "@kcp-ts/machinery/base";
import { dial, type TlsOptions } from "./dial.ts";
import type { Endpoint } from "./endpoint.ts";
import { GrpcError, grpcCode } from "./grpc-error.ts";
import { GrpcStream, type GrpcStreamHandlers } from "./grpc-stream.ts";
import { Keepalive } from "./keepalive.ts";

export interface ConnectionOptions {
  readonly clock: Clock;
  readonly tls?: TlsOptions | undefined;
  readonly connectTimeoutMs: number;
  /** After this time without data while calls are open the connection pings the peer. */
  readonly keepaliveIntervalMs: number;
  /** The timeout of the ping. */
  readonly keepaliveTimeoutMs: number;
  readonly responseBytesMax: number;
}

export type Metadata = Readonly<Record<string, string>>;

export class Connection {
  readonly endpoint: Endpoint;
  readonly #session: ClientHttp2Session;
  readonly #options: ConnectionOptions;
  readonly #keepalive: Keepalive;
  readonly #onUnusable = new Set<() => void>();
  readonly #onClosed = new Set<() => void>();
  #usable = true;
  #ended = false;
  #streams = 0;

  private constructor(endpoint: Endpoint, session: ClientHttp2Session, options: ConnectionOptions) {
    this.endpoint = endpoint;
    this.#session = session;
    this.#options = options;
    this.#keepalive = new Keepalive({
      clock: options.clock,
      intervalMs: options.keepaliveIntervalMs,
      timeoutMs: options.keepaliveTimeoutMs,
      ping: (onAnswer) => !session.destroyed && session.ping(onAnswer),
      onDead: (silentMs) =>
        this.destroy(`${endpoint.name} has been silent for ${Math.round(silentMs)} ms`),
    });
    session.on("goaway", () => this.#becomeUnusable());
  }

  /**
   * Connects, and waits for the peer's HTTP/2 settings: a peer that only accepts TCP connections
   * counts as down.
   */
  static open(endpoint: Endpoint, options: ConnectionOptions): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = dial(endpoint, options.tls);
      const session = connect(endpoint.url, { ...sessionOptions, createConnection: () => socket });
      const fail = (message: string, cause?: unknown) => {
        timer.cancel();
        session.destroy();
        reject(
          new GrpcError(grpcCode.unavailable, `${endpoint.name}: ${message}`, "not-sent", cause),
        );
      };
      const timer = options.clock.schedule(options.connectTimeoutMs, () =>
        fail(`no HTTP/2 answer within ${options.connectTimeoutMs} ms`),
      );
      // These listeners stay for good: without a listener an error would end the process. In some
      // cases Node reports only on the socket.
      session.on("error", (error) => fail(connectProblem(error), error));
      socket.on("error", (error) => {
        session.destroy(error);
        fail(connectProblem(error), error);
      });
      session.on("close", () => fail("the connection was closed"));
      session.once("connect", () => {
        // The timeout may have come first.
        if (!session.destroyed) session.setLocalWindowSize(connectionWindowBytes);
      });
      session.once("remoteSettings", () => {
        timer.cancel();
        const connection = new Connection(endpoint, session, options);
        for (const source of [session, socket]) source.once("close", () => connection.#end());
        socket.once("error", () => connection.#end());
        resolve(connection);
      });
    });
  }

  /** Whether new calls may be made on the connection. */
  get usable(): boolean {
    return this.#usable;
  }

  /** Calls `listener` once when the connection stops being usable; at once if it already has. */
  onUnusable(listener: () => void): void {
    if (this.#usable) this.#onUnusable.add(listener);
    else listener();
  }

  /** Calls `listener` once the socket is closed, also when that has already happened. */
  onClosed(listener: () => void): void {
    if (this.#ended) listener();
    else this.#onClosed.add(listener);
  }

  /** Begins a call. Throws `not-sent` when the connection accepts none. */
  start(path: string, metadata: Metadata, handlers: GrpcStreamHandlers): GrpcStream {
    let stream: ClientHttp2Stream;
    try {
      if (!this.#usable) throw new Error("the connection is closing");
      stream = this.#session.request(this.#headers(path, metadata));
    } catch (error) {
      this.#becomeUnusable();
      throw new GrpcError(
        grpcCode.unavailable,
        `${this.endpoint.name}: ${(error as Error).message}`,
        "not-sent",
        error,
      );
    }
    this.#streams++;
    if (this.#streams === 1) this.#keepalive.start();
    return new GrpcStream(stream, this.#options.responseBytesMax, {
      onMessage: (message) => handlers.onMessage(message),
      onActivity: () => {
        this.#keepalive.heard();
        handlers.onActivity();
      },
      onEnd: (error) => {
        this.#streams--;
        if (this.#streams === 0) this.#keepalive.stop();
        // The peer accepts no more streams, or this connection has used up its stream numbers
        // (2^30).
        if (error?.delivery === "not-sent") this.retire();
        handlers.onEnd(error);
      },
    });
  }

  /** Pings the peer now; without a response the connection ends. */
  verify(): void {
    if (!this.#session.destroyed) this.#keepalive.verify();
  }

  /** Accepts no more calls and ends once the open ones have ended. */
  retire(): void {
    this.#becomeUnusable();
    if (!this.#session.destroyed) this.#session.close();
  }

  /** Ends now; open calls fail with an unknown outcome. */
  destroy(reason: string): void {
    this.#becomeUnusable();
    if (!this.#session.destroyed) this.#session.destroy(new Error(reason));
  }

  #headers(path: string, metadata: Metadata): OutgoingHttpHeaders {
    return {
      ":method": "POST",
      ":path": path,
      te: "trailers",
      "content-type": "application/grpc",
      ...metadata,
    };
  }

  #becomeUnusable(): void {
    if (!this.#usable) return;
    this.#usable = false;
    for (const listener of this.#onUnusable) listener();
    this.#onUnusable.clear();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#keepalive.stop();
    this.#becomeUnusable();
    if (!this.#session.destroyed) this.#session.destroy();
    for (const listener of this.#onClosed) listener();
    this.#onClosed.clear();
  }
}

/** The flow-control windows of a peer, per connection and per call. */
const connectionWindowBytes = 16 << 20;
const streamWindowBytes = 4 << 20;

const sessionOptions: ClientSessionOptions = {
  settings: { enablePush: false, initialWindowSize: streamWindowBytes },
  // Megabytes. Node's default of 10 refuses new streams as soon as a few big messages are in
  // flight.
  maxSessionMemory: 1024,
};

function connectProblem(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined || error.message.includes(code)
    ? error.message
    : `${error.message} (${code})`;
}
