/**
 * How long until a test server is ready in a warm process, and what thirty of them at once cost.
 *
 *     node packages/testing/dist/test-control-plane.bench.js
 *
 * Prints one line of JSON; asserts nothing.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { namespaces } from "@kcp-ts/sdk/kinds";
import { startTestControlPlane } from "./internal.ts";

const rounds = Number(process.env["BENCH_STARTS"] ?? 20);
const atOnce = Number(process.env["BENCH_AT_ONCE"] ?? 30);
const settleMs = Number(process.env["BENCH_SETTLE_MS"] ?? 2000);

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

const planes = await Promise.all(Array.from({ length: atOnce }, startAndWrite));
// Control loops list and watch first.
await sleep(systemClock, settleMs);
const megabytes = process.memoryUsage().rss / 1e6;
console.log(JSON.stringify({ rounds, readyMs: median, atOnce, megabytes }));
await Promise.all(planes.map(({ k }) => k.close()));
