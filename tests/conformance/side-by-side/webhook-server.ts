/**
 * A webhook of the corpus, over HTTPS on this machine: what it answers is what its path says. Both
 * servers ask the same one.
 */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTestAuthority } from "@kcp-ts/testkit";
import { type WebhookReply, webhookReplies } from "./webhook-replies.ts";

export interface CorpusWebhook {
  /** What exchanges may say of it: `${hook}`, and `${authority}` for its caBundle. */
  readonly placeholders: ReadonlyMap<string, string>;
  stop(): Promise<void>;
}

export async function startWebhook(): Promise<CorpusWebhook> {
  const folder = await mkdtemp(join(tmpdir(), "corpus-webhook-"));
  const authority = createTestAuthority(folder);
  const { key, cert } = authority.issue("webhook", ["IP:127.0.0.1"]);
  const server = createServer({ key, cert }, (request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    placeholders: new Map([
      ["hook", `https://127.0.0.1:${port}`],
      ["authority", Buffer.from(authority.ca).toString("base64")],
    ]),
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
  const { pathname } = new URL(request.url ?? "/", "https://webhook");
  // Whoever follows a redirect comes with nothing.
  const text = Buffer.concat(parts).toString("utf8") || '{"request":{"uid":""}}';
  const review = JSON.parse(text);
  const said: WebhookReply = webhookReplies.get(pathname.slice(1))?.(review) ?? {
    code: 404,
    body: "",
  };
  if (said === "nothing") return;
  if (said === "hang up") {
    request.socket.destroy();
    return;
  }
  const { code = 200, headers = {}, body } = said;
  const type = typeof body === "string" ? "text/plain" : "application/json";
  response.writeHead(code, { "content-type": type, ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}
