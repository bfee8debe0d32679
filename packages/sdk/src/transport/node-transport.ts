/**
 * The transport of Node programs: HTTP/2 where the server offers it, HTTP/1.1 where it does not.
 *
 * The first TLS handshake (ALPN) selects one of the two. Connections are opened when they are
 * needed, and again when they break; the sender of requests waits between attempts.
 */
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
  type UpgradeResponse,
} from "../client/index.ts";
import { abortable } from "./abortable.ts";
import { connectTimeoutMsDefault, dial, type TlsSettings } from "./dial.ts";
import { Http1Connections } from "./http1-connections.ts";
import { Http2Connections } from "./http2-connections.ts";
import type { PermitsAddress } from "./permitted-addresses.ts";
import { upgradeOn } from "./upgrade.ts";

export interface NodeTransportOptions {
  /** Scheme, host and port; a path in it is ignored (it is the client's base path). */
  readonly url: URL;
  readonly proxy?: URL | undefined;
  /** Called for every new connection, so that rotated certificates are used. */
  readonly tls?: (() => TlsSettings | Promise<TlsSettings>) | undefined;
  /**
   * Called for every address that is connected to, the proxy's if there is one; all addresses are
   * permitted if omitted.
   */
  readonly permits?: PermitsAddress | undefined;
  /** `http1` uses HTTP/1.1 even if the server offers HTTP/2. */
  readonly protocol?: "negotiate" | "http1";
  /** Whether the server may compress long responses (gzip); true by default. */
  readonly compression?: boolean;
  readonly connectTimeoutMs?: number;
  /** The interval of pings on a connection that carries requests. */
  readonly pingIntervalMs?: number;
  /** The timeout of a ping, after which the connection is destroyed. */
  readonly pingTimeoutMs?: number;
  readonly clock?: Clock;
}

type Connections = Http1Connections | Http2Connections;

/** client-go's values: a dead peer is detected in 45 seconds at most. */
const pingIntervalMsDefault = 30_000;
const pingTimeoutMsDefault = 15_000;

export class NodeTransport implements Transport {
  readonly #options: NodeTransportOptions;
  #connections: Connections | undefined;
  #choosing: Promise<Connections> | undefined;
  /** The connection on which the protocol was negotiated; the first request uses it. */
  #first: Socket | undefined;
  #closed = false;
  /** Connections that were handed to callers by an upgrade. */
  readonly #handedOver = new Set<Socket>();

  constructor(options: NodeTransportOptions) {
    this.#options = options;
  }

  send(request: TransportRequest): Promise<TransportResponse> {
    const { signal } = request;
    if (this.#closed) {
      return Promise.reject(new TransportError("closed", "the transport is closed"));
    }
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#connections !== undefined) return this.#connections.send(request);
    return this.#choose(signal).then((connections) => connections.send(request));
  }

  async upgrade(request: TransportRequest): Promise<UpgradeResponse> {
    if (this.#closed) throw new TransportError("closed", "the transport is closed");
    request.signal?.throwIfAborted();
    const { url } = this.#options;
    const socket = await this.#dial(["http/1.1"]);
    this.#handedOver.add(socket);
    socket.once("close", () => this.#handedOver.delete(socket));
    return await upgradeOn(socket, url.host, request);
  }

  /**
   * New requests get new connections: after a change of credentials. Requests in flight are not
   * affected.
   */
  retire(): void {
    this.#connections?.retire();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#first?.destroy();
    this.#connections?.close();
    for (const socket of this.#handedOver) socket.destroy();
  }

  /** A request may be aborted while other requests still wait for the same handshake. */
  async #choose(signal: AbortSignal | undefined): Promise<Connections> {
    this.#choosing ??= this.#negotiate().finally(() => {
      this.#choosing = undefined;
    });
    return await abortable(this.#choosing, signal);
  }

  async #negotiate(): Promise<Connections> {
    const { url, clock = systemClock, protocol = "negotiate", compression = true } = this.#options;
    const http1 = () =>
      new Http1Connections({
        host: url.host,
        connect: () => this.#connect(["http/1.1"]),
        compression,
      });
    if (url.protocol !== "https:" || protocol === "http1") {
      this.#connections = http1();
      return this.#connections;
    }
    const socket = (await this.#connect(["h2", "http/1.1"])) as TLSSocket;
    if (this.#closed) {
      socket.destroy();
      throw new TransportError("closed", "the transport is closed");
    }
    this.#first = socket;
    socket.once("close", () => {
      if (this.#first === socket) this.#first = undefined;
    });
    socket.on("error", () => {
      // The user of the connection has listeners of its own; until then, `close` is enough.
    });
    this.#connections =
      socket.alpnProtocol === "h2"
        ? new Http2Connections({
            authority: url.origin,
            connect: () => this.#connectHttp2(),
            clock,
            compression,
            settingsTimeoutMs: this.#options.connectTimeoutMs ?? connectTimeoutMsDefault,
            pingIntervalMs: this.#options.pingIntervalMs ?? pingIntervalMsDefault,
            pingTimeoutMs: this.#options.pingTimeoutMs ?? pingTimeoutMsDefault,
          })
        : http1();
    return this.#connections;
  }

  /**
   * With a server that no longer speaks HTTP/2, after a restart or behind another proxy, the
   * protocol is negotiated again.
   */
  async #connectHttp2(): Promise<Socket> {
    const socket = (await this.#connect(["h2", "http/1.1"])) as TLSSocket;
    if (socket.alpnProtocol === "h2") return socket;
    socket.destroy();
    this.#connections = undefined;
    throw new TransportError("refused", "the server does not speak HTTP/2 any more");
  }

  async #connect(alpn: readonly string[]): Promise<Socket> {
    const first = this.#first;
    if (first !== undefined) {
      this.#first = undefined;
      return first;
    }
    return this.#dial(alpn);
  }

  async #dial(alpn: readonly string[]): Promise<Socket> {
    const { url, proxy, permits, connectTimeoutMs, clock } = this.#options;
    const tls = await this.#options.tls?.();
    return dial({ url, proxy, permits, tls, alpn, connectTimeoutMs, clock });
  }
}
