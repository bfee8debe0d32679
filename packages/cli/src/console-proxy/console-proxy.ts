/**
 * A server on loopback between a browser and a control plane: it serves the console, and adds the
 * kubeconfig's credentials to the requests of that page.
 *
 * Every program of this machine and every page in the browser can reach the port. A request passes
 * only with the secret of this run in a cookie, which the printed address sets; by a Host that is
 * this server, so that no foreign name can be bound to it; and from a page of this server itself.
 */
import { randomBytes, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { consoleSite } from "@kcp-ts/controlplane";
import { bounds, isBoundExceeded, readBounded } from "@kcp-ts/machinery/bounds";
import { type Client, isUpgraded, type Method } from "@kcp-ts/sdk";

export interface ConsoleProxyOptions {
  /** With the credentials; its base path says which workspace is opened. */
  readonly client: Client;
  /** 0 selects a free port. */
  readonly port: number;
}

export interface ConsoleProxy {
  /** The address to open, with the secret. */
  readonly url: string;
  close(): Promise<void>;
}

type Site = ReturnType<typeof consoleSite>;

interface Proxy {
  readonly client: Client;
  readonly site: Site;
  readonly secret: string;
  readonly port: () => number;
}

const methods: ReadonlySet<string> = new Set(["GET", "POST", "PUT", "PATCH", "DELETE"]);
const loginPath = "/login?secret=";

export async function startConsoleProxy(options: ConsoleProxyOptions): Promise<ConsoleProxy> {
  const { client } = options;
  const [, prefix = "", workspace] = /^(.*)\/clusters\/([^/]+)$/.exec(client.basePath) ?? [];
  const secret = randomBytes(32).toString("base64url");
  const proxy: Proxy = {
    client: client.withBasePath(workspace === undefined ? client.basePath : prefix),
    site: consoleSite({ authentication: "proxy", workspace }),
    secret,
    port: () => (server.address() as AddressInfo).port,
  };
  const server = createServer((request, response) => {
    handle(proxy, request, response).catch((error: unknown) => {
      if (!response.headersSent) refuse(response, 502, messageOf(error));
      else response.destroy();
    });
  });
  const upgraded = new Set<Duplex>();
  server.on("upgrade", (request: IncomingMessage, connection: Duplex, head: Buffer) => {
    upgraded.add(connection);
    connection.on("close", () => upgraded.delete(connection));
    // A page that leaves in the middle of a frame is no failure of this process.
    connection.on("error", () => connection.destroy());
    if (head.length > 0) connection.unshift(head);
    forwardUpgrade(proxy, request, connection).catch((error: unknown) =>
      refuseUpgrade(connection, 502, messageOf(error)),
    );
  });
  server.listen(options.port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${proxy.port()}${loginPath}${secret}`,
    close: async () => {
      server.closeAllConnections();
      for (const connection of upgraded) connection.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

async function handle(proxy: Proxy, request: IncomingMessage, response: ServerResponse) {
  const { url: target = "", method = "" } = request;
  const refusal = refusalOf(proxy, request);
  if (refusal?.status === 401 && target.startsWith(loginPath))
    return logIn(proxy, target, response);
  if (refusal !== undefined) return refuse(response, refusal.status, refusal.text);
  if (proxy.site.has({ target })) return serveSite(proxy, request, response);
  if (!methods.has(method)) return refuse(response, 405, "no such method");
  await forward(proxy, request, response);
}

interface Refusal {
  readonly status: number;
  readonly text: string;
}

/** Undefined for a request of the page that this server has served to the user. */
function refusalOf(proxy: Proxy, request: IncomingMessage): Refusal | undefined {
  if (!isOwnHost(proxy, request.headers.host)) return { status: 421, text: "not this host" };
  if (!isOwnPage(proxy, request)) return { status: 403, text: "not from a page of this server" };
  if (isSame(cookieOf(proxy, request), proxy.secret)) return undefined;
  return { status: 401, text: "open the address that kcp console has printed" };
}

function isOwnHost({ port }: Proxy, host: string | undefined): boolean {
  return host === `127.0.0.1:${port()}` || host === `localhost:${port()}`;
}

/** Browsers say where a request comes from; what a user types comes from nowhere. */
function isOwnPage({ port }: Proxy, { headers }: IncomingMessage): boolean {
  const { origin } = headers;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  if (origin === undefined) return true;
  return origin === `http://127.0.0.1:${port()}` || origin === `http://localhost:${port()}`;
}

function logIn(proxy: Proxy, target: string, response: ServerResponse): void {
  if (!isSame(target.slice(loginPath.length), proxy.secret)) {
    refuse(response, 401, "this address is of another run of kcp console");
    return;
  }
  response.writeHead(303, {
    location: "/console/",
    "set-cookie": `${cookieName(proxy)}=${proxy.secret}; HttpOnly; SameSite=Strict; Path=/`,
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
  response.end();
}

/** Cookies know no ports: each run has a name of its own. */
function cookieName({ port }: Proxy): string {
  return `kcp-console-${port()}`;
}

function cookieOf(proxy: Proxy, { headers }: IncomingMessage): string {
  const pairs = (headers.cookie ?? "").split(";").map((pair) => pair.trim().split("="));
  return pairs.find(([name]) => name === cookieName(proxy))?.[1] ?? "";
}

function isSame(given: string, secret: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(secret)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function refuse(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8" });
  response.end(`${text}\n`);
}

async function serveSite({ site }: Proxy, request: IncomingMessage, response: ServerResponse) {
  const { method = "", url: target = "", headers } = request;
  const { status, headers: sent, body } = await site.serve({ method, target, headers } as never);
  const present = Object.entries(sent).filter(([, value]) => value !== undefined);
  response.writeHead(status, Object.fromEntries(present) as Record<string, string>);
  response.end(body);
}

/** Of the request's headers only those pass that say what is sent and wanted. */
async function forward({ client }: Proxy, request: IncomingMessage, response: ServerResponse) {
  const leaving = new AbortController();
  response.on("close", () => leaving.abort());
  const headers = picked(request.headers, ["accept", "content-type"]);
  const body = await bodyOf(request);
  if (body === undefined) return refuse(response, 413, "the body is too large");
  const answer = await client.transport.send({
    method: request.method as Method,
    path: client.basePath + (request.url ?? "/"),
    headers,
    body: body.length === 0 ? undefined : body,
    signal: leaving.signal,
  });
  response.writeHead(answer.status, {
    ...picked(answer.headers, ["content-type", "warning", "retry-after", "audit-id"]),
    "x-content-type-options": "nosniff",
    // A mount may answer with a document: it runs nothing at the origin of the console.
    "content-security-policy": "sandbox; default-src 'none'",
    "cache-control": "no-store",
  });
  response.flushHeaders();
  try {
    await pipeline(Readable.from(answer.body), response);
  } catch (error) {
    // The page has left, or the server: either way there is no one left to answer.
    if (!leaving.signal.aborted) throw error;
  }
}

const sentUpgradeHeaders = [
  "connection",
  "upgrade",
  "sec-websocket-key",
  "sec-websocket-protocol",
  "sec-websocket-version",
] as const;
const returnedUpgradeHeaders = ["sec-websocket-accept", "sec-websocket-protocol"] as const;

/**
 * Commands in Pods, over a WebSocket. Browsers name the origin of every WebSocket: one without is
 * of another program, and does not pass.
 */
async function forwardUpgrade(
  proxy: Proxy,
  request: IncomingMessage,
  connection: Duplex,
): Promise<void> {
  const { client } = proxy;
  const refusal = refusalOf(proxy, request);
  if (refusal !== undefined) return refuseUpgrade(connection, refusal.status, refusal.text);
  if (request.headers.origin === undefined)
    return refuseUpgrade(connection, 403, "not from a page of this server");
  const leaving = new AbortController();
  connection.on("close", () => leaving.abort());
  const answer = await client.transport.upgrade?.({
    method: "GET",
    path: client.basePath + (request.url ?? "/"),
    headers: picked(request.headers, sentUpgradeHeaders),
    signal: leaving.signal,
  });
  if (answer === undefined) return refuseUpgrade(connection, 501, "no WebSockets here");
  if (!isUpgraded(answer))
    return refuseUpgrade(
      connection,
      answer.status,
      await answer.body.text(bounds.refusal.bytesMax),
    );
  const lines = Object.entries(picked(answer.headers, returnedUpgradeHeaders));
  const agreed = [["connection", "Upgrade"] as const, ["upgrade", "websocket"] as const];
  connection.write(`HTTP/1.1 101 Switching Protocols\r\n${headerLines([...agreed, ...lines])}\r\n`);
  await pipeline(connection, answer.connection as Duplex, connection).catch(() => {
    // One side has left, and the pipeline has ended the other.
  });
}

function picked(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  names: readonly string[],
): Record<string, string | string[]> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      if (value === undefined) return [];
      return [[name, typeof value === "string" ? value : [...value]] as const];
    }),
  );
}

function headerLines(headers: readonly (readonly [string, unknown])[]): string {
  return headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
}

function refuseUpgrade(connection: Duplex, status: number, text: string): void {
  const headers = headerLines([
    ["content-type", "text/plain; charset=utf-8"],
    ["connection", "close"],
  ]);
  connection.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${headers}\r\n${text}\n`);
}

/** Undefined for a body that is larger than what the server takes: of that nothing is read. */
async function bodyOf(request: IncomingMessage): Promise<Uint8Array | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > bounds.requestBody.bytesMax)
    return undefined;
  try {
    return await readBounded(bounds.requestBody, request as AsyncIterable<Uint8Array>);
  } catch (error) {
    if (isBoundExceeded(error)) return undefined;
    throw error;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
