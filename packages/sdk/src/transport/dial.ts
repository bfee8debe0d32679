/**
 * Opens a connection: TCP, through an HTTP or SOCKS5 proxy if there is one, and TLS on top if the
 * server's URL requires it.
 */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as netConnect, type Socket } from "node:net";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { onAbort, startDeadline, TransportError } from "../client/index.ts";
import { type PermitsAddress, permittedOnly } from "./permitted-addresses.ts";
import { socksTunnel } from "./socks-tunnel.ts";

/** PEM texts. Files and plugins belong to `kubeconfig/`. */
export interface TlsSettings {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  /** The name for SNI and for the check of the certificate, when it is not the host of the URL. */
  readonly serverName?: string;
  /** Accepts any certificate: the server is not authenticated. */
  readonly insecureSkipVerify?: boolean;
}

export interface DialOptions {
  readonly url: URL;
  readonly proxy?: URL | undefined;
  readonly tls?: TlsSettings | undefined;
  readonly alpn: readonly string[];
  /**
   * Called for every address that is connected to: the proxy's, if there is one. All addresses are
   * permitted if omitted.
   */
  readonly permits?: PermitsAddress | undefined;
  readonly connectTimeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

export const connectTimeoutMsDefault = 30_000;
/** The kernel detects a peer that vanished silently; HTTP/2 pings detect it sooner. */
const tcpKeepAliveMs = 30_000;

export async function dial(options: DialOptions): Promise<Socket> {
  const deadline = startDeadline({
    clock: options.clock ?? systemClock,
    timeoutMs: options.connectTimeoutMs ?? connectTimeoutMsDefault,
    what: `connecting to ${options.url.host}`,
  });
  try {
    const socket =
      options.proxy === undefined
        ? await tcp(options.url, options.permits, deadline.signal)
        : await tunnel(options.url, options.proxy, options.permits, deadline.signal);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, tcpKeepAliveMs);
    return options.url.protocol === "https:"
      ? await secure(socket, options, deadline.signal)
      : socket;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TransportError("connect", `cannot connect to ${options.url.host}: ${reason}`, error);
  } finally {
    deadline.cancel();
  }
}

async function tcp(
  url: URL,
  permits: PermitsAddress | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const host = hostOf(url);
  const socket = netConnect({ host, port: portOf(url), ...permittedOnly(host, permits) });
  return established(socket, "connect", signal);
}

function secure(socket: Socket, options: DialOptions, signal: AbortSignal): Promise<TLSSocket> {
  const { tls = {}, url, alpn } = options;
  const serverName = tls.serverName ?? hostOf(url);
  const secured = tlsConnect({
    socket,
    ...(tls.ca === undefined ? {} : { ca: tls.ca }),
    ...(tls.cert === undefined ? {} : { cert: tls.cert }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
    // SNI must not carry an address; checking the certificate against an address is fine.
    ...(isAddress(serverName) ? { host: serverName } : { servername: serverName }),
    rejectUnauthorized: tls.insecureSkipVerify !== true,
    ALPNProtocols: [...alpn],
  });
  return established(secured, "secureConnect", signal);
}

function established<S extends Socket>(
  socket: S,
  event: "connect" | "secureConnect",
  signal: AbortSignal,
): Promise<S> {
  return new Promise((resolve, reject) => {
    const onClose = () => onError(new Error("closed by the other side"));
    const onError = (error: Error) => {
      cleanUp();
      socket.destroy();
      reject(error);
    };
    const cleanUp = () => {
      stopListening();
      socket.off("error", onError);
      socket.off("close", onClose);
    };
    socket.once(event, () => {
      cleanUp();
      resolve(socket);
    });
    socket.on("error", onError);
    socket.on("close", onClose);
    const stopListening = onAbort(signal, () => socket.destroy(signal.reason as Error));
  });
}

function tunnel(
  url: URL,
  proxy: URL,
  permits: PermitsAddress | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  return proxy.protocol.startsWith("socks5")
    ? throughSocks(url, proxy, permits, signal)
    : throughHttp(url, proxy, permits, signal);
}

async function throughSocks(
  url: URL,
  proxy: URL,
  permits: PermitsAddress | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const socket = await tcp(proxy, permits, signal);
  const stopListening = onAbort(signal, () => socket.destroy(signal.reason as Error));
  try {
    await socksTunnel(socket, proxy, { host: hostOf(url), port: portOf(url) });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    stopListening();
  }
}

/** HTTP CONNECT, with the user and password of the proxy's URL if it has them. */
function throughHttp(
  url: URL,
  proxy: URL,
  permits: PermitsAddress | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const target = `${url.hostname}:${portOf(url)}`;
  const request = proxy.protocol === "https:" ? httpsRequest : httpRequest;
  const headers: Record<string, string> = { host: target };
  if (proxy.username !== "") {
    const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
    headers["proxy-authorization"] = `Basic ${Buffer.from(user).toString("base64")}`;
  }
  const host = hostOf(proxy);
  return new Promise((resolve, reject) => {
    const connecting = request({
      host,
      ...permittedOnly(host, permits),
      port: portOf(proxy),
      method: "CONNECT",
      path: target,
      headers,
      agent: false,
      signal,
    });
    connecting.on("connect", (response, socket, head) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        reject(new Error(`proxy ${proxy.host} answered ${response.statusCode} to CONNECT`));
        return;
      }
      if (head.length > 0) socket.unshift(head);
      resolve(socket as Socket);
    });
    connecting.on("error", reject);
    connecting.end();
  });
}

/** Without the brackets that URLs put around IPv6 addresses. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

export function portOf(url: URL): number {
  if (url.port !== "") return Number(url.port);
  if (url.protocol.startsWith("socks5")) return 1080;
  return url.protocol === "https:" ? 443 : 80;
}

function isAddress(host: string): boolean {
  return host.includes(":") || /^\d+\.\d+\.\d+\.\d+$/.test(host);
}
