/**
 * A test server behind a real listener: TLS on 127.0.0.1, and clients for HTTP/1.1, HTTP/2 and raw
 * bytes.
 */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { Agent, request as requestHttp1 } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { createTestAuthority } from "@kcp-ts/testkit";
import { Listener, type ListenerLimits } from "../http/index.ts";
import type { ApiRequest } from "../request/api-request.ts";
import type { ApiServer } from "../server.ts";
import {
  authorizationOf,
  TestServer,
  type TestServerOptions,
  type TestUser,
} from "./test-server.ts";

export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

export interface WireRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly user?: TestUser;
}

export interface ListeningOptions extends TestServerOptions {
  readonly limits?: Partial<ListenerLimits>;
  /** Reuses HTTP/1.1 connections; otherwise each request has its own. */
  readonly keepAlive?: boolean;
  /** Wraps the handler between the listener and the server. */
  readonly wrap?: (
    request: ApiRequest,
    handle: ApiServer["handle"],
  ) => ReturnType<ApiServer["handle"]>;
}

export class ListeningServer {
  readonly test: TestServer;
  readonly listener: Listener;
  readonly port: number;
  readonly ca: string;
  readonly certificate: { readonly cert: string; readonly key: string };
  /** The listener's messages about broken connections. */
  readonly debug: string[];
  readonly #agent: Agent;
  readonly #sessions = new Set<ClientHttp2Session>();

  private constructor(
    test: TestServer,
    listener: Listener,
    port: number,
    debug: string[],
    keepAlive: boolean,
  ) {
    const { ca } = certificates();
    this.test = test;
    this.listener = listener;
    this.port = port;
    this.ca = ca;
    this.certificate = certificates();
    this.debug = debug;
    this.#agent = new Agent({ ca, keepAlive });
  }

  static async start({
    limits,
    wrap,
    keepAlive = false,
    ...options
  }: ListeningOptions = {}): Promise<ListeningServer> {
    const test = await TestServer.start(options);
    const { cert, key } = certificates();
    const debug: string[] = [];
    const handle = (request: ApiRequest) => test.server.handle(request);
    const listener = new Listener({
      host: "127.0.0.1",
      port: 0,
      tls: { certificatePem: cert, privateKeyPem: key },
      handle: wrap === undefined ? handle : (request) => wrap(request, handle),
      onDebug: (message, error) => debug.push(`${message}: ${String(error)}`),
      ...(limits === undefined ? {} : { limits }),
    });
    const { port } = await listener.listen();
    return new ListeningServer(test, listener, port, debug, keepAlive);
  }

  async http1(path: string, options: WireRequest = {}): Promise<WireResponse> {
    const { method = "GET", headers = {}, body, user = "admin" } = options;
    const request = requestHttp1({
      agent: this.#agent,
      host: "127.0.0.1",
      port: this.port,
      path,
      method,
      headers: { ...authorizationOf(user), ...headers },
    });
    request.end(body);
    const [response] = await once(request, "response");
    const parts: Buffer[] = [];
    for await (const part of response) parts.push(part as Buffer);
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(parts) };
  }

  async http2(path: string, options: WireRequest = {}): Promise<WireResponse> {
    const session = this.session();
    const { method = "GET", headers = {}, body, user = "admin" } = options;
    const stream = session.request({
      ":method": method,
      ":path": path,
      ...authorizationOf(user),
      ...headers,
    });
    stream.end(body);
    const [answered] = await once(stream, "response");
    const parts: Buffer[] = [];
    for await (const part of stream) parts.push(part as Buffer);
    session.close();
    const status = Number(answered[":status"]);
    return { status, headers: answered, body: Buffer.concat(parts) };
  }

  /** A new connection; its errors are left to the test and do not end the process. */
  session(): ClientHttp2Session {
    const session = connectHttp2(`https://127.0.0.1:${this.port}`, { ca: this.ca });
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    session.on("error", () => {});
    return session;
  }

  async raw(protocol: "h2" | "http/1.1" = "http/1.1"): Promise<TLSSocket> {
    const socket = connectTls({
      host: "127.0.0.1",
      port: this.port,
      ca: this.ca,
      ALPNProtocols: [protocol],
    });
    socket.on("error", () => {});
    await once(socket, "secureConnect");
    return socket;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    for (const session of this.#sessions) session.destroy();
    const stop = new AbortController();
    stop.abort();
    await this.listener.drain(stop.signal);
    await this.test.close();
  }
}

/** Reads a socket to its end. */
export async function readToEnd(socket: TLSSocket): Promise<string> {
  let text = "";
  socket.on("data", (part: Buffer) => {
    text += part.toString("latin1");
  });
  if (!socket.destroyed) await once(socket, "close");
  return text;
}

let made: { ca: string; cert: string; key: string } | undefined;

/** Created once per process, by openssl. */
function certificates() {
  if (made === undefined) {
    const folder = mkdtempSync(join(tmpdir(), "listening-"));
    try {
      const authority = createTestAuthority(folder);
      const { cert, key } = authority.issue("server", ["IP:127.0.0.1", "DNS:localhost"]);
      made = { ca: authority.ca, cert, key };
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
  return made;
}
