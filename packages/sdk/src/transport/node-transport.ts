/**
 * The transport of Node programs: HTTP/2 where the server offers it, HTTP/1.1 where it does not.
 *
 * Which of the two is learnt from the first TLS handshake (ALPN). Connections are made when they are needed, and made anew when
 * they break; waiting between attempts is the business of whoever sends requests.
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
  /** Asked at every new connection, so that rotated certificates are picked up. */
  readonly tls?: (() => TlsSettings | Promise<TlsSettings>) | undefined;
  /** Asked of every address that is connected to, the proxy's if there is one; all are permitted if left out. */
  readonly permits?: PermitsAddress | undefined;
  /** `http1` keeps to HTTP/1.1 even if the server offers more. */
  readonly protocol?: "negotiate" | "http1";
  /** Whether the server may pack long answers (gzip); true if left out. */
  readonly compression?: boolean;
  readonly connectTimeoutMs?: number;
  /** A connection that carries requests is pinged this often… */
  readonly pingIntervalMs?: number;
  /** …and given up when the answer takes longer than this. */
  readonly pingTimeoutMs?: number;
  readonly clock?: Clock;
}

type Connections = Http1Connections | Http2Connections;

/** What client-go uses: a dead peer is found out in 45 seconds at most. */
const pingIntervalMsDefault = 30_000;
const pingTimeoutMsDefault = 15_000;

export class NodeTransport implements Transport {
  readonly #options: NodeTransportOptions;
  #connections: Connections | undefined;
  #choosing: Promise<Connections> | undefined;
  /** The connection on which the protocol was agreed; the first request takes it over. */
  #first: Socket | undefined;
  #closed = false;
  /** Connections that became somebody's own. */
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

  /** New requests get new connections: after a change of credentials. Requests under way are left alone. */
  retire(): void {
    this.#connections?.retire();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#first?.destroy();
    this.#connections?.close();
    for (const socket of this.#handedOver) socket.destroy();
  }

  /** The request may be given up while others still wait for the same handshake. */
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
      // Whoever uses the connection has listeners of its own; until then, its `close` says enough.
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

  /** A server that no longer speaks HTTP/2, after a restart or behind another proxy, is asked anew what it speaks. */
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
