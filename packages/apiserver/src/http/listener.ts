/**
 * The listener: TLS, HTTP/2 and HTTP/1.1 on one port. Only this folder uses sockets.
 *
 * HTTP/2 is implemented in `http2/`; HTTP/1.1 uses Node's request and response. Both become an
 * ApiRequest.
 */
import { type IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import {
  eventLoopLimits,
  InboundBudget,
  OutboundBudget,
  UnreadResponseBudget,
} from "../event-loop/index.ts";
import { Connection } from "../http2/index.ts";
import type { ApiRequest, ApiResponse, MaybePromise } from "../request/api-request.ts";
import { fileDescriptorShare } from "../request/file-descriptors.ts";
import { ConnectionTable, type TrackedConnection } from "./connection-table.ts";
import { refuseForeignPage } from "./foreign-page.ts";
import { Http1ApiRequest, Http1Connection } from "./http1-api-request.ts";
import { type ConnectionInfo, Http2ApiRequest } from "./http2-api-request.ts";
import {
  type StallCheckedConnection,
  StalledConnectionMonitor,
} from "./stalled-connection-monitor.ts";
import {
  NamedCertificates,
  type NamedTlsMaterial,
  secureContextOptions,
  type TlsMaterial,
  type TlsVersion,
} from "./tls.ts";
import { watchOverWebSocket } from "./web-socket-watch.ts";

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsMaterial;
  /** Certificates for other server names. */
  readonly namedTls?: readonly NamedTlsMaterial[] | undefined;
  /** TLS 1.2 if omitted. */
  readonly tlsMinVersion?: TlsVersion | undefined;
  readonly handle: (request: ApiRequest) => MaybePromise<ApiResponse>;
  /** Called for broken connections and similar events that need no action. */
  readonly onDebug: (message: string, error: unknown) => void;
  readonly limits?: Partial<ListenerLimits>;
  readonly clock?: Clock;
}

export const listenerLimits = {
  headerBytesMax: 64 << 10,
  headerPairsMax: 256,
  streamsPerConnectionMax: 1000,
  handshakeTimeoutMs: 10_000,
  /** The timeout for the headers and the body of an HTTP/1.1 request. */
  requestTimeoutMs: 60_000,
  /** Go clients keep idle connections for 90 seconds; the server must not close first. */
  keepAliveTimeoutMs: 180_000,
  /** Open connections; 0 derives the limit from the file descriptors. */
  connectionsMax: 0,
  /** An idle connection without an authenticated request is closed after about this time. */
  unauthenticatedTimeoutMs: 30_000,
  /** An HTTP/2 connection without open streams is closed after this time without a frame. */
  idleTimeoutMs: 180_000,
  /** A response without read progress for this time is ended; watches have rules of their own. */
  stalledTimeoutMs: 60_000,
  /** Limits of unread responses: see `UnreadResponseBudget`. */
  unreadBytesPerConnectionMax: eventLoopLimits.unreadResponses.bytesPerConnectionMax,
  unreadBytesMax: eventLoopLimits.unreadResponses.bytesMax,
  /** A connection whose peer is gone is detected after about this time. */
  tcpKeepAliveMs: 30_000,
  /** The interval of the checks of HTTP/1.1 connections for these timeouts. */
  checkIntervalMs: 10_000,
} as const;

export type ListenerLimits = { readonly [Limit in keyof typeof listenerLimits]: number };

/** The part of all connections that may be sessions, which are upgraded from HTTP. */
const sessionsPart = 0.25;

export class Listener {
  readonly #server: Server;
  readonly #named: NamedCertificates;
  readonly #options: ListenerOptions;
  readonly #limits: ListenerLimits;
  readonly #clock: Clock;
  readonly #date: () => string;
  /** Open HTTP/2 connections. */
  readonly #connections = new Set<Connection>();
  readonly #inbound = new InboundBudget();
  readonly #outbound = new OutboundBudget();
  readonly #unread: UnreadResponseBudget;
  readonly #stalled: StalledConnectionMonitor;
  /** The shared state of every HTTP/1.1 connection. */
  readonly #http1 = new WeakMap<Socket, Http1Connection>();
  /** Every open connection, also during its TLS handshake. */
  readonly #sockets = new Set<Socket>();
  readonly #table: ConnectionTable;
  /** Keyed by the peer's address and port. */
  readonly #tracked = new Map<string, TrackedConnection>();
  /** Upgraded connections, which do not end by themselves. */
  readonly #upgraded = new Set<Socket>();
  readonly #sessionsMax: number;
  #isDraining = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#limits = { ...listenerLimits, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    this.#date = httpDate(this.#clock);
    this.#unread = new UnreadResponseBudget({
      bytesPerConnectionMax: this.#limits.unreadBytesPerConnectionMax,
      bytesMax: this.#limits.unreadBytesMax,
    });
    this.#stalled = new StalledConnectionMonitor(
      this.#clock,
      this.#limits.stalledTimeoutMs,
      this.#unread,
    );
    const connectionsMax = this.#limits.connectionsMax || fileDescriptorShare("connections");
    this.#table = new ConnectionTable(this.#clock, { ...this.#limits, connectionsMax });
    this.#sessionsMax = Math.max(1, Math.floor(connectionsMax * sessionsPart));
    const { tls, namedTls = [], tlsMinVersion = "TLSv1.2" } = options;
    this.#named = new NamedCertificates(namedTls, tlsMinVersion);
    const server = createServer({
      ...serverOptions(this.#limits),
      ...secureContextOptions(tls, tlsMinVersion),
      SNICallback: (servername, settle) => settle(null, this.#named.find(servername)),
    });
    this.#server = server;
    server.on("connection", (socket: Socket) => this.#accept(socket));
    // Node's own listener handles HTTP/1.1; it gets the connections whose ALPN chose it, or
    // nothing.
    const http1 = server.listeners("secureConnection");
    server.removeAllListeners("secureConnection");
    server.on("secureConnection", (socket) => {
      if (!this.#onConnection(socket)) return;
      if (socket.alpnProtocol === "h2") this.#onHttp2(socket);
      else {
        this.#onHttp1(socket);
        for (const listen of http1) listen.call(server, socket);
      }
    });
    server.on("tlsClientError", (error) => options.onDebug("TLS handshake failed", error));
    server.on("request", (request, response) => this.#onRequest(request, response));
    server.on("upgrade", (request, socket, head) => this.#onUpgrade(request, socket, head));
  }

  async listen(): Promise<AddressInfo> {
    const { port, host } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, host, () => {
        this.#server.removeListener("error", reject);
        resolve();
      });
    });
    this.#server.on("error", (error) => this.#options.onDebug("listener failed", error));
    return this.#server.address() as AddressInfo;
  }

  /** New connections use the new certificate; open ones keep theirs. */
  reload(tls: TlsMaterial): void {
    const { tlsMinVersion = "TLSv1.2" } = this.#options;
    this.#server.setSecureContext(secureContextOptions(tls, tlsMinVersion));
  }

  /**
   * Like `reload`, for the certificates of other server names. Throws when a certificate is
   * invalid, and keeps the old ones.
   */
  reloadNamed(materials: readonly NamedTlsMaterial[]): void {
    this.#named.replace(materials);
  }

  /** Stops accepting connections, waits for requests in flight, then closes the connections. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#isDraining = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.drain();
    this.#server.closeIdleConnections();
    for (const socket of this.#upgraded) socket.destroy();
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([closed, aborted]);
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** False when the listener is draining. */
  #onConnection(socket: TLSSocket): boolean {
    socket.setKeepAlive(true, this.#limits.tcpKeepAliveMs);
    socket.on("error", (error) => this.#options.onDebug("connection failed", error));
    this.#setKeepAlive(socket);
    // The connection was accepted before the listener closed, and has no request yet.
    if (this.#isDraining) socket.destroy();
    return !this.#isDraining;
  }

  /** A connection counts from its first packet on, also when its handshake fails. */
  #accept(socket: Socket): void {
    this.#setKeepAlive(socket);
    const tracked = this.#table.add(socket.remoteAddress ?? "", () => socket.destroy());
    if (tracked === undefined) {
      this.#options.onDebug("connection refused", new Error("too many connections are open"));
      socket.destroy();
      return;
    }
    const peer = peerOf(socket);
    this.#tracked.set(peer, tracked);
    socket.once("close", () => {
      this.#table.delete(tracked);
      if (this.#tracked.get(peer) === tracked) this.#tracked.delete(peer);
    });
  }

  /** The tracked connection of a TLS socket, which wraps the accepted socket. */
  #secured(socket: TLSSocket): TrackedConnection | undefined {
    const tracked = this.#tracked.get(peerOf(socket));
    if (tracked !== undefined) tracked.destroy = () => socket.destroy();
    return tracked;
  }

  #setKeepAlive(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** Monitors the reader of a connection until the connection closes. */
  #trackConnection(
    socket: TLSSocket,
    reader: Pick<StallCheckedConnection, "isExemptFromStallCheck" | "endStalled">,
  ): void {
    const looked: StallCheckedConnection = {
      get sentBytes() {
        return socket.bytesWritten - socket.writableLength;
      },
      get unsentBytes() {
        return socket.writableLength;
      },
      get isExemptFromStallCheck() {
        return reader.isExemptFromStallCheck;
      },
      endStalled: (looksMax) => reader.endStalled?.(looksMax),
      destroy: () => {
        this.#options.onDebug("connection ended", new Error("nothing was read of its answers"));
        socket.destroy();
      },
    };
    this.#stalled.add(looked);
    socket.once("close", () => this.#stalled.delete(looked));
  }

  #onAuthenticated(tracked: TrackedConnection | undefined): (username: string) => void {
    if (tracked === undefined) return () => {};
    return (username) => {
      if (!tracked.isAuthenticated) this.#table.markAuthenticated(tracked, username);
    };
  }

  /**
   * Counts the unsent bytes of a socket, which are encrypted: memory of their own, for watches and
   * other responses.
   */
  #countUnsent(socket: TLSSocket): { readonly blocked: () => void } {
    let counted = 0;
    const count = (bytes: number) => {
      this.#unread.bytes += bytes - counted;
      counted = bytes;
    };
    socket.on("drain", () => count(0));
    socket.once("close", () => count(0));
    return { blocked: () => !socket.destroyed && count(socket.writableLength) };
  }

  #onHttp1(socket: TLSSocket): void {
    const tracked = this.#secured(socket);
    const connection = new Http1Connection(
      this.#unread,
      this.#onAuthenticated(tracked),
      socket.getPeerX509Certificate(),
    );
    if (tracked !== undefined) tracked.isBusy = () => connection.isBusy;
    this.#http1.set(socket, connection);
    this.#trackConnection(socket, connection);
  }

  #onHttp2(socket: TLSSocket): void {
    const { handle, onDebug } = this.#options;
    const tracked = this.#secured(socket);
    const facts: ConnectionInfo = {
      onAuthenticated: this.#onAuthenticated(tracked),
      remoteAddress: socket.remoteAddress ?? "",
      certificate: socket.getPeerX509Certificate(),
      date: this.#date,
    };
    const unsent = this.#countUnsent(socket);
    const connection = new Connection({
      clock: this.#clock,
      limits: this.#limits,
      inbound: this.#inbound,
      outbound: this.#outbound,
      unread: this.#unread,
      setReadPaused: (isHeld) => {
        if (isHeld) socket.pause();
        else socket.resume();
      },
      onStream: (stream) => {
        const request = new Http2ApiRequest(stream, facts);
        if (stream.isReceived) request.run(handle, onDebug);
        else stream.onBodyArrived(() => request.run(handle, onDebug));
      },
      write: (bytes, done) => {
        if (!socket.writable) return false;
        const isLeaving = socket.write(bytes, done);
        if (!isLeaving) unsent.blocked();
        return isLeaving;
      },
      end: () => socket.destroySoon(),
      onError: (error) => onDebug("HTTP/2 connection failed", error),
    });
    this.#connections.add(connection);
    if (tracked !== undefined) tracked.isBusy = () => connection.wasActive();
    this.#trackConnection(socket, {
      get isExemptFromStallCheck() {
        return connection.openStreams > 0;
      },
      endStalled: (looksMax) => connection.endStalled(looksMax),
    });
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => connection.receive(bytes));
    socket.on("drain", () => connection.drained());
    socket.on("end", () => socket.destroySoon());
    socket.once("close", () => {
      this.#connections.delete(connection);
      connection.closed();
    });
    // A watch may be silent for long; an idle connection may not.
    socket.setTimeout(this.#limits.idleTimeoutMs, () => {
      if (connection.openStreams === 0) connection.drain();
    });
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const socket = request.socket as TLSSocket;
    // A connection that is busy when draining begins closes with its last response, not with its
    // idle timeout.
    if (this.#isDraining) response.setHeader("connection", "close");
    response.once("finish", () => {
      if (this.#isDraining) socket.destroySoon();
    });
    const connection = this.#http1.get(socket) as Http1Connection;
    connection.begin(response);
    new Http1ApiRequest(request, response, connection).run(
      this.#options.handle,
      this.#options.onDebug,
    );
  }

  /**
   * A regular response to an upgrade request is the last of its connection: Node has detached the
   * connection.
   */
  #onUpgrade(request: IncomingMessage, connection: Duplex, head: Buffer): void {
    const socket = connection as TLSSocket;
    const { handle, onDebug } = this.#options;
    const http1 = this.#http1.get(socket) as Http1Connection;
    if (head.length > 0) socket.unshift(head);
    socket.setTimeout(0);
    socket.setNoDelay(true);
    const response = new ServerResponse(request);
    response.assignSocket(socket);
    response.once("finish", () => socket.destroySoon());
    const taking = (answer: ApiResponse): ApiResponse => {
      const { onUpgrade } = answer;
      if (onUpgrade === undefined) return answer;
      const taken = (taken: Duplex) => {
        // Most sessions have a second connection to their backend.
        if (this.#upgraded.size >= this.#sessionsMax) socket.destroy();
        response.removeAllListeners("finish");
        this.#upgraded.add(socket);
        http1.isStreaming = true;
        socket.once("close", () => this.#upgraded.delete(socket));
        if (this.#isDraining) socket.destroy();
        onUpgrade(taken);
      };
      return { ...answer, onUpgrade: taken };
    };
    new Http1ApiRequest(request, response, http1, socket).run((asked) => {
      const refusal = refuseForeignPage(asked);
      if (refusal !== undefined) return refusal;
      const answer = handle(asked);
      if (!(answer instanceof Promise)) return taking(watchOverWebSocket(answer, asked));
      return answer.then((resolved) => taking(watchOverWebSocket(resolved, asked)));
    }, onDebug);
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function serverOptions(limits: ListenerLimits): ServerOptions {
  return {
    ALPNProtocols: ["h2", "http/1.1"],
    // Authentication verifies client certificates, so that clients without one can authenticate
    // with a token.
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: limits.handshakeTimeoutMs,
    // Node counts only the characters of names and values, so that many small headers need a lower
    // limit.
    maxHeaderSize: limits.headerBytesMax / 2,
    headersTimeout: limits.requestTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
  };
}

// The time in HTTP's format, formatted once a second.

export function httpDate(clock: Clock): () => string {
  let second = Number.NaN;
  let text = "";
  return () => {
    const now = Math.floor(clock.now() / 1000);
    if (now !== second) {
      second = now;
      text = new Date(now * 1000).toUTCString();
    }
    return text;
  };
}
