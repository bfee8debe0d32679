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
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { consoleSite } from "@kcp-ts/controlplane";
import { bounds, isBoundExceeded, readBounded } from "@kcp-ts/machinery/bounds";
import type { Client, Method } from "@kcp-ts/sdk";

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
  server.listen(options.port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${proxy.port()}${loginPath}${secret}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function handle(proxy: Proxy, request: IncomingMessage, response: ServerResponse) {
  const { url: target = "", method = "" } = request;
  if (!isOwnHost(proxy, request.headers.host)) return refuse(response, 421, "not this host");
  if (!isOwnPage(proxy, request)) return refuse(response, 403, "not from a page of this server");
  if (target.startsWith(loginPath)) return logIn(proxy, target, response);
  if (!isSame(cookieOf(proxy, request), proxy.secret))
    return refuse(response, 401, "open the address that kcp console has printed");
  if (proxy.site.has({ target })) return serveSite(proxy, request, response);
  if (!methods.has(method)) return refuse(response, 405, "no such method");
  await forward(proxy, request, response);
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
  const headers: Record<string, string> = {};
  for (const name of ["accept", "content-type"] as const) {
    const value = request.headers[name];
    if (value !== undefined) headers[name] = value;
  }
  const body = await bodyOf(request);
  if (body === undefined) return refuse(response, 413, "the body is too large");
  const answer = await client.transport.send({
    method: request.method as Method,
    path: client.basePath + (request.url ?? "/"),
    headers,
    body: body.length === 0 ? undefined : body,
    signal: leaving.signal,
  });
  const shown = { "content-type": "", warning: "", "retry-after": "", "audit-id": "" };
  const passed = Object.keys(shown).flatMap((name) => {
    const value = answer.headers[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  response.writeHead(answer.status, {
    ...(Object.fromEntries(passed) as Record<string, string>),
    "x-content-type-options": "nosniff",
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
