/**
 * The listener: TLS, HTTP/2 and HTTP/1.1 on one port. The only room that knows sockets.
 *
 * HTTP/2 uses the stream API, because a watch costs a third of what it costs through the compatibility layer; HTTP/1.1 comes through
 * Node's own request and response. Both become an ApiRequest.
 */
import type { X509Certificate } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { ApiRequest, ApiResponse, MaybePromise } from "../request/api-request.ts";
import { Http1Exchange } from "./http1-exchange.ts";
import { Http2Exchange } from "./http2-exchange.ts";
import {
  NamedCertificates,
  type NamedTlsMaterial,
  secureContextOptions,
  type TlsMaterial,
  type TlsVersion,
} from "./tls.ts";

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
  /** A connection over HTTP/2 without open streams is closed after this long without a word. */
  idleTimeoutMs: 180_000,
  /** A connection whose peer is gone is found after about this long. */
  tcpKeepAliveMs: 30_000,
  /** How often HTTP/1.1 connections are looked at for these timeouts. */
  checkIntervalMs: 10_000,
} as const;

export type ListenerLimits = { readonly [Limit in keyof typeof listenerLimits]: number };

type StreamEvent = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: readonly string[],
];

export class Listener {
  readonly #server: Http2SecureServer;
  readonly #named: NamedCertificates;
  readonly #options: ListenerOptions;
  readonly #limits: ListenerLimits;
  /** Open connections over HTTP/2, with how many streams are open on each. */
  readonly #sessions = new Map<ServerHttp2Session, number>();
  /** Every open connection, also those that are still shaking hands. */
  readonly #sockets = new Set<Socket>();
  #isDraining = false;
  readonly #certificates = new WeakMap<object, X509Certificate | undefined>();

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#limits = { ...listenerLimits, ...options.limits };
    const { tls, namedTls = [], tlsMinVersion = "TLSv1.2" } = options;
    this.#named = new NamedCertificates(namedTls, tlsMinVersion);
    this.#server = createSecureServer({
      ...serverOptions(this.#limits),
      ...secureContextOptions(tls, tlsMinVersion),
      SNICallback: (servername, settle) => settle(null, this.#named.find(servername)),
    });
    this.#server.on("connection", (socket: Socket) => this.#keep(socket));
    this.#server.on("secureConnection", (socket: TLSSocket) => this.#onConnection(socket));
    this.#server.on("session", (session) => this.#onSession(session));
    this.#server.on("tlsClientError", (error) => options.onDebug("TLS handshake failed", error));
    this.#server.on("sessionError", (error) => options.onDebug("HTTP/2 session failed", error));
    this.#server.on("request", (request, response) => this.#onRequest(request, response));
    // The compatibility layer listens for streams as soon as somebody listens for requests; streams are ours.
    this.#server.removeAllListeners("stream");
    // Node hands over the raw headers as well, which its types leave out.
    const streams: NodeJS.EventEmitter = this.#server;
    streams.on("stream", (...args: StreamEvent) => this.#onStream(...args));
    configureHttp1(this.#server, this.#limits);
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
    for (const session of this.#sessions.keys()) session.close();
    (this.#server as unknown as { closeIdleConnections?: () => void }).closeIdleConnections?.();
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([closed, aborted]);
    for (const session of this.#sessions.keys()) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #onConnection(socket: TLSSocket): void {
    socket.setKeepAlive(true, this.#limits.tcpKeepAliveMs);
    socket.on("error", (error) => this.#options.onDebug("connection failed", error));
    this.#keep(socket);
    // It was accepted before the listener closed, and nothing has been asked on it yet.
    if (this.#isDraining) socket.destroy();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  #onSession(session: ServerHttp2Session): void {
    this.#sessions.set(session, 0);
    session.once("close", () => this.#sessions.delete(session));
    // A watch may be silent for long; a connection that nothing is open on may not.
    session.setTimeout(this.#limits.idleTimeoutMs, () => {
      if (this.#sessions.get(session) === 0) session.close();
    });
  }

  #countStreams(session: ServerHttp2Session, by: 1 | -1): void {
    const open = this.#sessions.get(session);
    if (open !== undefined) this.#sessions.set(session, open + by);
  }

  #onStream(...[stream, headers, , rawHeaders]: StreamEvent): void {
    const { session } = stream;
    const socket = session?.socket;
    if (session === undefined || socket === undefined) return;
    const { handle, onDebug } = this.#options;
    this.#countStreams(session as ServerHttp2Session, 1);
    stream.once("close", () => this.#countStreams(session as ServerHttp2Session, -1));
    new Http2Exchange(stream, headers, rawHeaders, socket.remoteAddress ?? "", () =>
      this.#certificateOf(session, socket),
    ).run(handle, onDebug);
  }

  #onRequest(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): void {
    const incoming = request as IncomingMessage;
    const socket = incoming.socket as TLSSocket;
    // A connection that was busy when draining began goes with its last answer, not with its idle timeout.
    if (this.#isDraining) response.setHeader("connection", "close");
    response.once("finish", () => {
      if (this.#isDraining) socket.destroySoon();
    });
    new Http1Exchange(incoming, response as ServerResponse, () =>
      this.#certificateOf(socket, socket),
    ).run(this.#options.handle, this.#options.onDebug);
  }

  /** Asked once per connection: the certificate object carries a cached fingerprint. */
  #certificateOf(connection: object, socket: object): X509Certificate | undefined {
    if (!this.#certificates.has(connection)) {
      this.#certificates.set(connection, (socket as TLSSocket).getPeerX509Certificate?.());
    }
    return this.#certificates.get(connection);
  }
}

function serverOptions(limits: ListenerLimits): SecureServerOptions {
  return {
    allowHTTP1: true,
    // Certificates are asked for and judged by authentication, so that those without one can still come with a token.
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: limits.handshakeTimeoutMs,
    maxHeaderListPairs: limits.headerPairsMax,
    settings: {
      maxConcurrentStreams: limits.streamsPerConnectionMax,
      maxHeaderListSize: limits.headerBytesMax,
      initialWindowSize: 1 << 20,
    },
  };
}

/** Node's types do not say that an HTTP/2 server with HTTP/1.1 has the timeouts of an HTTP/1.1 server. */
function configureHttp1(server: Http2SecureServer, limits: ListenerLimits): void {
  Object.assign(server, {
    headersTimeout: limits.requestTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: limits.checkIntervalMs,
  });
}
