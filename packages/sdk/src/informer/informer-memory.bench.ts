/**
 * What an informer of 100,000 objects of 1 KB costs in memory: how much more resident memory the
 * process has than before the informer started. The server is a process of its own, and this one is
 * fresh and runs without flags, as a user's does.
 *
 *     node packages/sdk/dist/informer/informer-memory.bench.js whole|metadata stream|pages
 *
 * Prints one line of JSON; asserts nothing.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { Client, type KubernetesObject } from "../client/index.ts";
import { type Certificates, makeCertificates, startHttp2Server } from "../fake-server/index.ts";
import { deployments } from "../kinds/index.ts";
import { NodeTransport } from "../transport/index.ts";
import { Informer } from "./informer.ts";
import { metadataOnly } from "./transforms.ts";

const count = Number(process.env["BENCH_OBJECTS"] ?? 100_000);
/** When V8 sees that nothing happens any more, it gives back what it has taken for the rush. */
const settleMs = Number(process.env["BENCH_SETTLE_MS"] ?? 15_000);

if (process.argv[2] === "server") await serve(process.argv[3] ?? "");
else await measure(process.argv[2] ?? "whole", process.argv[3] ?? "stream");

async function measure(what: string, how: string): Promise<void> {
  const certificates = makeCertificates();
  const child = fork(fileURLToPath(import.meta.url), ["server", JSON.stringify(certificates)]);
  const [port] = (await once(child, "message")) as [number];
  const url = new URL(`https://localhost:${port}`);
  const transport = new NodeTransport({ url, tls: () => ({ ca: certificates.ca }) });
  const client = new Client({ transport });
  // The connection and its code are loaded before: a program without a cache has them, too.
  await client.json({ method: "GET", path: "/apis/apps/v1/deployments?limit=1" });
  const before = process.memoryUsage();
  const startedAtMs = systemClock.monotonic();
  const informer = new Informer<KubernetesObject, unknown>({
    client,
    resource: deployments,
    scope: { cluster: "root" as ClusterName },
    transform: what === "metadata" ? metadataOnly : undefined,
    watchList: how === "stream",
  });
  const controller = new AbortController();
  let peak = 0;
  const sampling = sample(controller.signal, (rss) => {
    peak = Math.max(peak, rss);
  });
  const running = informer.run(controller.signal);
  await informer.synced();
  const seconds = (systemClock.monotonic() - startedAtMs) / 1000;
  const synced = process.memoryUsage();
  await sleep(systemClock, settleMs);
  const settled = process.memoryUsage();
  console.log(
    JSON.stringify({
      what,
      how,
      objects: informer.store.size,
      objectBytes: objectText(1).length,
      seconds: round(seconds),
      beforeMB: megabytes(before.rss),
      grownMB: megabytes(settled.rss - before.rss),
      grownAtSyncMB: megabytes(synced.rss - before.rss),
      grownAtPeakMB: megabytes(peak - before.rss),
      heapGrownMB: megabytes(settled.heapUsed - before.heapUsed),
      externalMB: megabytes(settled.external),
    }),
  );
  controller.abort();
  await Promise.all([running, sampling]);
  await transport.close();
  child.kill();
}

async function sample(signal: AbortSignal, take: (rss: number) => void): Promise<void> {
  while (!signal.aborted) {
    take(process.memoryUsage.rss());
    await sleep(systemClock, 20);
  }
}

function megabytes(bytes: number): number {
  return round(bytes / 1e6);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

async function serve(encoded: string): Promise<void> {
  const certificates = JSON.parse(encoded) as Certificates;
  const server = await startHttp2Server(certificates, (request, response) => {
    request.resume();
    const query = new URLSearchParams((request.url ?? "").split("?")[1] ?? "");
    response.writeHead(200, { "content-type": "application/json" });
    if (!query.has("watch")) response.end(page(query));
    else
      void stream(response as unknown as ServerResponse, query.get("sendInitialEvents") === "true");
  });
  process.send?.(server.port);
  // The parent process has ended.
  process.on("disconnect", () => process.exit(0));
}

function page(query: URLSearchParams): string {
  const from = Number(query.get("continue") ?? 0);
  const to = Math.min(count, from + Number(query.get("limit") ?? 500));
  const items = Array.from({ length: to - from }, (_, i) => objectText(from + i)).join(",");
  const rest = to < count ? `,"continue":"${to}"` : "";
  return `{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"9"${rest}},"items":[${items}]}`;
}

/** The state if it is asked for, as fast as it is taken; then a watch on which nothing happens. */
async function stream(response: ServerResponse, hasState: boolean): Promise<void> {
  if (!hasState) {
    response.flushHeaders();
    return;
  }
  const batch = 64;
  for (let from = 0; from < count; from += batch) {
    const to = Math.min(count, from + batch);
    const events = Array.from(
      { length: to - from },
      (_, i) => `{"type":"ADDED","object":${objectText(from + i)}}\n`,
    );
    if (!response.write(events.join(""))) await once(response, "drain");
  }
  response.write(
    `{"type":"BOOKMARK","object":{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}\n`,
  );
}

/** As Deployments look: half metadata, a quarter of it managed fields, many short strings. */
function objectText(i: number): string {
  const name = `web-${i}`;
  const text = JSON.stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name,
      namespace: `team-${i % 500}`,
      uid: `0b9f6c1e-5d3a-4f0e-9c57-${String(i).padStart(12, "0")}`,
      resourceVersion: String(1_000_000 + i),
      generation: 1,
      creationTimestamp: "2026-11-15T20:00:00Z",
      labels: { app: name, "app.kubernetes.io/managed-by": "helm" },
      annotations: { "kcp.io/cluster": `tenant-${i % 1000}` },
      managedFields: [
        {
          manager: "kubectl",
          operation: "Update",
          apiVersion: "apps/v1",
          time: "2026-11-15T20:00:00Z",
          fieldsType: "FieldsV1",
          fieldsV1: { "f:spec": { "f:replicas": {}, "f:template": { "f:spec": {} } } },
        },
      ],
    },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "main", image: `registry.example.io/web:${i}` }] },
      },
    },
    status: { replicas: 3, readyReplicas: 3, padding: "" },
  });
  const padding = "x".repeat(Math.max(0, 1024 - text.length));
  return text.replace('"padding":""', `"padding":"${padding}"`);
}
