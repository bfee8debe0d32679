/**
 * How long until a test server is ready in a warm process, and what thirty of them at once cost.
 *
 *     node --expose-gc packages/controlplane/dist/testing/test-control-plane.bench.js
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import { startTestControlPlane } from "./index.ts";

const namespaces = defineResource<KubernetesObject>({
  group: "",
  version: "v1",
  resource: "namespaces",
  kind: "Namespace",
  namespaced: false,
});
const rounds = 20;
const atOnce = 30;
const settleMs = 2000;

async function startAndWrite() {
  const startedAt = systemClock.monotonic();
  const k = await startTestControlPlane();
  const readyMs = systemClock.monotonic() - startedAt;
  await k.client.resource(namespaces).create({ metadata: { name: "bench" } });
  return { k, readyMs };
}

const times: number[] = [];
for (let round = 0; round <= rounds; round++) {
  const { k, readyMs } = await startAndWrite();
  // The first one warms up.
  if (round > 0) times.push(readyMs);
  await k.close();
}
const sorted = times.sort((a, b) => a - b);
const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
console.log(`ready: ${median.toFixed(1)} ms (median of ${rounds}; wanted: under 100)`);

const planes = await Promise.all(Array.from({ length: atOnce }, startAndWrite));
// Control loops list and watch first.
await sleep(systemClock, settleMs);
globalThis.gc?.();
const megabytes = process.memoryUsage().rss / 1e6;
console.log(`${atOnce} at once: ${megabytes.toFixed(0)} MB resident (wanted: under 300)`);
await Promise.all(planes.map(({ k }) => k.close()));
