/**
 * The listener: TLS, HTTP/2 and HTTP/1.1 on one port. The only room that knows sockets.
 *
 * HTTP/2 is our own (`http2/`); HTTP/1.1 comes through Node's request and response. Both become an ApiRequest.
 */

import type { X509Certificate } from "node:crypto";
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
import { Http1ApiRequest, Http1Connection } from "./http1-exchange.ts";
import { type ConnectionInfo, Http2ApiRequest } from "./http2-exchange.ts";
import { type StallCheckedConnection, StalledConnectionMonitor } from "./stalled.ts";
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
  /** Other certificates for clients that ask for other names. */
  readonly namedTls?: readonly NamedTlsMaterial[] | undefined;
  /** TLS 1.2 if left out. */
  readonly tlsMinVersion?: TlsVersion | undefined;
  readonly handle: (request: ApiRequest) => MaybePromise<ApiResponse>;
  /** Told of broken connections and the like: nothing that anybody must act on. */
  readonly onDebug: (message: string, error: unknown) => void;
  readonly limits?: Partial<ListenerLimits>;
  readonly clock?: Clock;
}

export const listenerLimits = {
  headerBytesMax: 64 << 10,
  headerPairsMax: 256,
  streamsPerConnectionMax: 1000,
  handshakeTimeoutMs: 10_000,
  /** Time for the headers and the body of an HTTP/1.1 request to arrive. */
  requestTimeoutMs: 60_000,
  /** Go clients keep idle connections for 90 seconds; we must not close first. */
  keepAliveTimeoutMs: 180_000,
  /** Open connections; 0 is as many as there are file descriptors for. */
  connectionsMax: 0,
  /** A connection on which nobody has shown who they are, and nothing is open, is closed after about this long. */
  unauthenticatedTimeoutMs: 30_000,
  /** A connection over HTTP/2 without open streams is closed after this long without a word. */
  idleTimeoutMs: 180_000,
  /** An answer of which nothing was read for this long is ended; watches have rules of their own. */
  stalledTimeoutMs: 60_000,
  /** Of answers that wait for their readers: see `UnreadResponseBudget`. */
  unreadBytesPerConnectionMax: eventLoopLimits.unreadResponses.bytesPerConnectionMax,
  unreadBytesMax: eventLoopLimits.unreadResponses.bytesMax,
  /** A connection whose peer is gone is found after about this long. */
  tcpKeepAliveMs: 30_000,
  /** How often HTTP/1.1 connections are looked at for these timeouts. */
  checkIntervalMs: 10_000,
} as const;

export type ListenerLimits = { readonly [Limit in keyof typeof listenerLimits]: number };

/** The part of all connections that may be sessions, which speak something else than HTTP. */
const sessionsPart = 0.25;

export class Listener {
  readonly #server: Server;
  readonly #named: NamedCertificates;
  readonly #options: ListenerOptions;
  readonly #limits: ListenerLimits;
  readonly #clock: Clock;
  readonly #date: () => string;
  /** Open connections over HTTP/2. */
  readonly #connections = new Set<Connection>();
  readonly #inbound = new InboundBudget();
  readonly #outbound = new OutboundBudget();
  readonly #unread: UnreadResponseBudget;
  readonly #stalled: StalledConnectionMonitor;
  /** What every connection over HTTP/1.1 has in common over its requests. */
  readonly #http1 = new WeakMap<Socket, Http1Connection>();
  /** Every open connection, also those that are still shaking hands. */
  readonly #sockets = new Set<Socket>();
  readonly #table: ConnectionTable;
  /** By the other end. */
  readonly #tracked = new Map<string, TrackedConnection>();
  /** Connections that no longer carry HTTP: they would not end by themselves. */
  readonly #handedOver = new Set<Socket>();
  readonly #sessionsMax: number;
  #isDraining = false;
  readonly #certificates = new WeakMap<TLSSocket, X509Certificate | undefined>();

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
    // Node's own listener speaks HTTP/1.1; it gets the connections that agreed on it, or on nothing.
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

  /** New connections use the new certificate; open ones go on. */
  reload(tls: TlsMaterial): void {
    const { tlsMinVersion = "TLSv1.2" } = this.#options;
    this.#server.setSecureContext(secureContextOptions(tls, tlsMinVersion));
  }

  /** As `reload`, for the certificates of other names. Throws when one cannot be used, and keeps the old ones. */
  reloadNamed(materials: readonly NamedTlsMaterial[]): void {
    this.#named.replace(materials);
  }

  /** Stops accepting, lets open requests finish, then closes their connections. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#isDraining = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#connections) connection.drain();
    this.#server.closeIdleConnections();
    for (const socket of this.#handedOver) socket.destroy();
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([closed, aborted]);
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** False when it comes too late. */
  #onConnection(socket: TLSSocket): boolean {
    socket.setKeepAlive(true, this.#limits.tcpKeepAliveMs);
    socket.on("error", (error) => this.#options.onDebug("connection failed", error));
    this.#keep(socket);
    // It was accepted before the listener closed, and nothing has been asked on it yet.
    if (this.#isDraining) socket.destroy();
    return !this.#isDraining;
  }

  /** A connection counts from its first packet on, whatever becomes of it. */
  #accept(socket: Socket): void {
    this.#keep(socket);
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

  /** The same connection, when TLS has made another socket of it. */
  #secured(socket: TLSSocket): TrackedConnection | undefined {
    const tracked = this.#tracked.get(peerOf(socket));
    if (tracked !== undefined) tracked.destroy = () => socket.destroy();
    return tracked;
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** Looks after its reader until it is closed. */
  #watchOver(
    socket: TLSSocket,
    reader: Pick<StallCheckedConnection, "isHeldOpen" | "endStalled">,
  ): void {
    const looked: StallCheckedConnection = {
      get sentBytes() {
        return socket.bytesWritten - socket.writableLength;
      },
      get unsentBytes() {
        return socket.writableLength;
      },
      get isHeldOpen() {
        return reader.isHeldOpen;
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

  #recognizing(tracked: TrackedConnection | undefined): (username: string) => void {
    if (tracked === undefined) return () => {};
    return (username) => {
      if (!tracked.isKnown) this.#table.recognize(tracked, username);
    };
  }

  /** What is written to a socket and not taken by its peer is encrypted already: memory of its own, for watches as for anything else. */
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
    const connection = new Http1Connection(this.#unread, this.#recognizing(tracked));
    if (tracked !== undefined) tracked.isBusy = () => connection.isBusy;
    this.#http1.set(socket, connection);
    this.#watchOver(socket, connection);
  }

  #onHttp2(socket: TLSSocket): void {
    const { handle, onDebug } = this.#options;
    const tracked = this.#secured(socket);
    const facts: ConnectionInfo = {
      onAuthenticated: this.#recognizing(tracked),
      remoteAddress: socket.remoteAddress ?? "",
      certificate: () => this.#certificateOf(socket),
      date: this.#date,
    };
    const unsent = this.#countUnsent(socket);
    const connection = new Connection({
      clock: this.#clock,
      limits: this.#limits,
      inbound: this.#inbound,
      outbound: this.#outbound,
      unread: this.#unread,
      hold: (isHeld) => {
        if (isHeld) socket.pause();
        else socket.resume();
      },
      onStream: (stream) => new Http2ApiRequest(stream, facts).run(handle, onDebug),
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
    if (tracked !== undefined) tracked.isBusy = () => connection.wasBusy();
    this.#watchOver(socket, {
      get isHeldOpen() {
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
    // A watch may be silent for long; a connection that nothing is open on may not.
    socket.setTimeout(this.#limits.idleTimeoutMs, () => {
      if (connection.openStreams === 0) connection.drain();
    });
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const socket = request.socket as TLSSocket;
    // A connection that was busy when draining began goes with its last answer, not with its idle timeout.
    if (this.#isDraining) response.setHeader("connection", "close");
    response.once("finish", () => {
      if (this.#isDraining) socket.destroySoon();
    });
    const connection = this.#http1.get(socket) as Http1Connection;
    connection.begin(response);
    new Http1ApiRequest(request, response, () => this.#certificateOf(socket), connection).run(
      this.#options.handle,
      this.#options.onDebug,
    );
  }

  /** An ordinary answer to it is its last: Node has let go of the connection. */
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
      const { takeOver } = answer;
      if (takeOver === undefined) return answer;
      const taken = (taken: Duplex) => {
        // Most sessions have a second connection behind them.
        if (this.#handedOver.size >= this.#sessionsMax) socket.destroy();
        response.removeAllListeners("finish");
        this.#handedOver.add(socket);
        http1.isWatched = true;
        socket.once("close", () => this.#handedOver.delete(socket));
        if (this.#isDraining) socket.destroy();
        takeOver(taken);
      };
      return { ...answer, takeOver: taken };
    };
    const certificate = () => this.#certificateOf(socket);
    new Http1ApiRequest(request, response, certificate, http1, socket).run((asked) => {
      const answer = handle(asked);
      if (!(answer instanceof Promise)) return taking(watchOverWebSocket(answer, asked));
      return answer.then((resolved) => taking(watchOverWebSocket(resolved, asked)));
    }, onDebug);
  }

  /** Asked once per connection: the certificate object carries a cached fingerprint. */
  #certificateOf(socket: TLSSocket): X509Certificate | undefined {
    if (!this.#certificates.has(socket))
      this.#certificates.set(socket, socket.getPeerX509Certificate());
    return this.#certificates.get(socket);
  }
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function serverOptions(limits: ListenerLimits): ServerOptions {
  return {
    ALPNProtocols: ["h2", "http/1.1"],
    // Certificates are asked for and judged by authentication, so that those without one can still come with a token.
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: limits.handshakeTimeoutMs,
    // Node counts the characters of names and values only, so that many small ones need a lower limit.
    maxHeaderSize: limits.headerBytesMax / 2,
    headersTimeout: limits.requestTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
  };
}

// The time as HTTP writes it, made once a second.

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
