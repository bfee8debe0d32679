/**
 * Measures the time until a Deployment that is scaled from 0 has all its Pods ready, over 100
 * nodes, when Pods start immediately.
 *
 *     node packages/simulator/dist/pods.bench.js [pods]
 *
 * The processor time is printed, too: on a shared machine, it is the more reliable number.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { deployments } from "./api/index.ts";
import { startSimulatedCluster } from "./simulated-cluster.ts";

const count = Number(process.argv[2] ?? 10_000);
const nodes = 100;
const lookMs = 100;
const name = { name: "web", namespace: "default" };

const cluster = await startSimulatedCluster({
  name: "bench",
  nodes: Array.from({ length: nodes }, (_, index) => ({
    name: `node-${index}`,
    capacity: { pods: String(Math.ceil(count / nodes) + 10) },
  })),
  kubelet: { startDelayMs: { min: 0, max: 0 } },
});
const resource = cluster.client.resource(deployments);
const template = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "web", image: "web:1" }] },
};
const selector = { matchLabels: { app: "web" } };
await resource.create({ metadata: name, spec: { replicas: 0, selector, template } });
await sleep(systemClock, 1000);

const startedAt = systemClock.monotonic();
const cpuBefore = process.cpuUsage();
await resource.patch(name, { type: "merge", patch: { spec: { replicas: count } } });
for (;;) {
  await sleep(systemClock, lookMs);
  const { status } = await resource.get(name);
  if ((status?.readyReplicas ?? 0) >= count) break;
}
const seconds = (systemClock.monotonic() - startedAt) / 1000;
const { user, system } = process.cpuUsage(cpuBefore);
const cpuSeconds = (user + system) / 1e6;
const megabytes = process.memoryUsage().rss / 1e6;
console.log(
  `${count} Pods ready: ${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor time, ${megabytes.toFixed(0)} MB resident (wanted: 10,000 in 10 s)`,
);
await cluster.close();
