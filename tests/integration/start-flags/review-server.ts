/** For tests: an authorization webhook that records its requests. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { asyncListener, createTestAuthority } from "@kcp-ts/testkit";

export interface ReviewServer {
  readonly configFile: string;
  readonly requests: JsonObject[];
  /** The status of every answer from here on, or a number: an answer that is none. */
  answer: JsonObject | number;
}

export const allow = { allowed: true };
export const deny = { allowed: false, denied: true, reason: "the webhook says no" };
export const noOpinion = { allowed: false };

export async function startReviewServer(t: TestContext): Promise<ReviewServer> {
  const folder = mkdtempSync(join(tmpdir(), "reviews-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const authority = createTestAuthority(folder);
  const { key, cert } = authority.issue("localhost", ["DNS:localhost"]);
  const requests: JsonObject[] = [];
  const configFile = join(folder, "webhook.kubeconfig");
  const reviews: ReviewServer = { configFile, requests, answer: allow };
  const server = createServer(
    { key, cert },
    asyncListener(async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const review = JSON.parse(Buffer.concat(parts).toString("utf8")) as JsonObject;
      requests.push(review);
      const { answer } = reviews;
      if (typeof answer === "number") response.writeHead(answer).end();
      else response.end(JSON.stringify({ ...review, status: answer }));
    }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const cluster = {
    server: `https://localhost:${port}/authorize`,
    "certificate-authority": authority.caFile,
  };
  const kubeconfig = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "it",
    contexts: [{ name: "it", context: { cluster: "it", user: "it" } }],
    clusters: [{ name: "it", cluster }],
    users: [{ name: "it", user: {} }],
  };
  writeFileSync(configFile, JSON.stringify(kubeconfig));
  return reviews;
}
