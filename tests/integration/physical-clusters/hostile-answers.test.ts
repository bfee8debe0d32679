/**
 * Goal: a cluster with oversized responses costs other tenants nothing, and its SyncTarget reports
 * the error.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { gzipSync } from "node:zlib";
import { systemClock } from "@kcp-ts/machinery/base";
import { syncTargets } from "@kcp-ts/multicluster";
import { createCertificateAuthority, exportKey, generateKey, issueCertificate } from "@kcp-ts/pki";
import { findCondition } from "@kcp-ts/sdk";
import { eventually, startControlPlaneWithClusters } from "./fixture.ts";

type Answer = (url: string, response: ServerResponse) => void;

/** A server that answers as it likes. */
async function hostile(
  t: TestContext,
  answer: Answer,
): Promise<{ kubeconfig: string; asked: string[] }> {
  const now = systemClock.now();
  const authority = createCertificateAuthority({ commonName: "hostile", now });
  const key = generateKey();
  const { certificatePem: cert } = issueCertificate({
    authority,
    key,
    now,
    subject: { commonName: "hostile" },
    purposes: ["serverAuth"],
    hostnames: ["127.0.0.1"],
  });
  const asked: string[] = [];
  const server: Server = createServer({ cert, key: exportKey(key) }, (request, response) => {
    asked.push(request.url ?? "");
    response.on("error", () => {});
    answer(request.url ?? "", response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const kubeconfig = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "x",
    clusters: [{ name: "x", cluster: { server: url, "certificate-authority-data": ca } }],
    users: [{ name: "x", user: { token: "t" } }],
    contexts: [{ name: "x", context: { cluster: "x", user: "x" } }],
  });
  return { kubeconfig, asked };
}

const json = { "content-type": "application/json" };
const many = Buffer.from(`[${"[{}],".repeat(10_000)}[]]`);
const long = Buffer.concat([
  Buffer.from('{"kind":"APIGroupDiscoveryList","items":['),
  ...Array.from({ length: 1000 }, () => Buffer.concat([many, Buffer.from(",")])),
  Buffer.from("[]]}"),
]);
const packed = gzipSync(long);
const version = JSON.stringify({ gitVersion: "v1.36.0" });

/** Sixty megabytes and more for everything but what it takes to be asked further. */
const waysToAnswer: Readonly<Record<string, Answer>> = {
  "with sixty megabytes of JSON": (url, response) => {
    if (url.startsWith("/version")) response.writeHead(200, json).end(version);
    else if (url.startsWith("/readyz")) response.writeHead(200).end("ok");
    else response.writeHead(200, json).end(long);
  },
  "with little that becomes sixty megabytes": (url, response) => {
    if (url.startsWith("/version")) response.writeHead(200, json).end(version);
    else if (url.startsWith("/readyz")) response.writeHead(200).end("ok");
    else response.writeHead(200, { ...json, "content-encoding": "gzip" }).end(packed);
  },
  "with errors of sixty megabytes": (_url, response) => {
    response.writeHead(500, json).end(long);
  },
  "with a version of sixty megabytes": (_url, response) => {
    response.writeHead(200, json).end(long);
  },
  "with headers of a megabyte": (_url, response) => {
    response.writeHead(200, { ...json, "x-long": "x".repeat(1 << 20) }).end(version);
  },
  "by sending elsewhere": (_url, response) => {
    response.writeHead(302, { location: "https://127.0.0.1:1/elsewhere" }).end();
  },
};

describe("a cluster that answers", () => {
  for (const [index, [way, answer]] of Object.entries(waysToAnswer).entries()) {
    it(`${way} has the problem in the status of its SyncTarget, and takes little memory`, async (t) => {
      const { kubeconfig, asked } = await hostile(t, answer);
      const { client } = await startControlPlaneWithClusters(t);
      const name = `hostile-${index}`;
      const before = process.memoryUsage().rss;
      await client.resource(syncTargets).create({ metadata: { name }, spec: { kubeconfig } });
      await eventually(async () => {
        const { status } = await client.resource(syncTargets).get({ name });
        const conditions = status?.conditions ?? [];
        const bad = ["Ready", "APIImporterReady"].map((type) => findCondition(conditions, type));
        assert.ok(
          bad.some((one) => one?.status === "False" && one.message !== ""),
          JSON.stringify(conditions),
        );
        assert.ok(asked.length >= 3, "asked once only");
      });
      const grownMegabytes = (process.memoryUsage().rss - before) / (1 << 20);
      assert.ok(grownMegabytes < 400, `${grownMegabytes} MB`);
    });
  }
});
