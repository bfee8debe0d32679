/**
 * The hosts that a tenant names to the server: webhooks, physical clusters, mounts. An attack sets
 * their responses.
 */
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { systemClock } from "@kcp-ts/machinery/base";
import { createTestAuthority } from "@kcp-ts/testkit";

export interface HostileResponse {
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body is repeated, after so many milliseconds each, and the response never ends. */
  readonly repeatsAfterMs?: number;
}

export class HostileHosts {
  readonly #server: Server;
  readonly caBundle: string;
  readonly caPem: string;
  /** The body of every response, by path and body of the request. */
  answer: (path: string, body: string) => string | HostileResponse = () => "{}";

  private constructor(server: Server, ca: string) {
    this.#server = server;
    this.caPem = ca;
    this.caBundle = Buffer.from(ca).toString("base64");
    server.on("request", (request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("error", () => undefined);
      response.on("error", () => undefined);
      request.on("end", () => {
        const body = Buffer.concat(parts).toString("utf8");
        const answer = this.answer(request.url ?? "", body);
        send(response, typeof answer === "string" ? { body: answer } : answer);
      });
    });
  }

  static async start(directory: string): Promise<HostileHosts> {
    const authority = createTestAuthority(directory);
    const { cert, key } = authority.issue("hostile", ["IP:127.0.0.1", "DNS:localhost"]);
    const server = createServer({ cert, key });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new HostileHosts(server, authority.ca);
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function send(
  response: ServerResponse,
  { body, headers = {}, repeatsAfterMs }: HostileResponse,
): void {
  response.setHeader("content-type", "application/json");
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (repeatsAfterMs === undefined) {
    response.end(body);
    return;
  }
  const repeat = () => {
    if (response.destroyed) return;
    if (!response.writableNeedDrain) response.write(body);
    systemClock.schedule(repeatsAfterMs, repeat);
  };
  repeat();
}
