/**
 * What an informer of 100,000 objects of 1 KB costs in memory, with and without a transform. Run with --expose-gc.
 * Prints; asserts nothing.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  Client,
  defineResource,
  type InProcessResponse,
  InProcessTransport,
  type KubernetesObject,
} from "../client/index.ts";
import { Informer } from "./informer.ts";
import { metadataOnly } from "./transforms.ts";

const count = Number(process.env["BENCH_OBJECTS"] ?? 100_000);
const things = defineResource<KubernetesObject>({
  group: "apps",
  version: "v1",
  resource: "deployments",
  kind: "Deployment",
  namespaced: true,
});

/** As Deployments look: half metadata, a quarter of it managed fields, many short strings. */
function object(i: number): string {
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

/** Serves pages made on the way, so that only the informer holds objects. */
function handle(path: string): InProcessResponse {
  const query = new URLSearchParams(path.split("?")[1] ?? "");
  if (query.has("watch")) return { status: 200, body: silence() };
  const from = Number(query.get("continue") ?? 0);
  const to = Math.min(count, from + Number(query.get("limit") ?? 500));
  const items = Array.from({ length: to - from }, (_, i) => object(from + i)).join(",");
  const rest = to < count ? `,"continue":"${to}"` : "";
  const body = `{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{"resourceVersion":"9"${rest}},"items":[${items}]}`;
  return { status: 200, body };
}

/** A watch on which nothing happens. */
async function* silence(): AsyncGenerator<Uint8Array> {
  await new Promise(() => {});
}

async function measure(name: string, transform?: (object: KubernetesObject) => unknown) {
  const transport = new InProcessTransport(({ path }) => handle(path));
  const client = new Client({ transport });
  const before = settled();
  const startedAt = performance.now();
  const informer = new Informer<KubernetesObject, unknown>({
    client,
    resource: things,
    scope: { cluster: "root" as ClusterName },
    transform,
    watchList: false,
  });
  const controller = new AbortController();
  void informer.run(controller.signal);
  await informer.synced();
  const seconds = (performance.now() - startedAt) / 1000;
  const after = settled();
  const heap = (after.heap - before.heap) / 1e6;
  console.log(
    `informer of ${informer.store.size} objects of ${object(1).length} bytes, ${name}: ${heap.toFixed(0)} MB (${((heap * 1e6) / count).toFixed(0)} bytes each), RSS of the process ${(after.rss / 1e6).toFixed(0)} MB, synced in ${seconds.toFixed(1)} s`,
  );
  controller.abort();
}

function settled(): { heap: number; rss: number } {
  for (let i = 0; i < 3; i++) (globalThis as { gc?: () => void }).gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

if (process.argv[2] !== "metadata") await measure("whole");
if (process.argv[2] !== "whole") await measure("metadata only", metadataOnly);
