/** How long a change upstream takes to the cluster, and a status back, at so many changes a second over several targets; all in one process. Prints; asserts nothing. */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { type FaultyServer, widgets } from "./faulty-server.ts";
import { SyncedClusterSet } from "./synced-cluster-set.ts";

const targets = Number(process.env["TARGETS"] ?? 2);
const perSecond = Number(process.env["CHANGES_PER_SECOND"] ?? 50);
const seconds = Number(process.env["SECONDS"] ?? 1);

const clusterSet = await SyncedClusterSet.start();
const { up } = clusterSet;
const sides: FaultyServer[] = [];
for (let index = 0; index < targets; index++)
  sides.push(await clusterSet.join("root", `t${index}`));
const client = up.client.inCluster("root");
await clusterSet.namespace("root");

const startedAt = new Map<string, number>();
const down: number[] = [];
const back: number[] = [];
const stop = new AbortController();
const followers = sides.map(async (side) => {
  for await (const { type, object } of side.client
    .resource(widgets)
    .watch({ signal: stop.signal })) {
    if (type !== "ADDED") continue;
    const { name, namespace } = object.metadata;
    const at = startedAt.get(name);
    if (at === undefined) continue;
    const now = systemClock.monotonic();
    down.push(now - at);
    startedAt.set(name, now);
    const patch = { status: { phase: "Ready" } };
    await side.client.resource(widgets).patchStatus({ name, namespace }, { type: "merge", patch });
  }
});
const returns = (async () => {
  for await (const { type, object } of client.resource(widgets).watch({ signal: stop.signal })) {
    if (type === "BOOKMARK") continue;
    const at = startedAt.get(object.metadata.name);
    if (object["status"] === undefined || at === undefined) continue;
    back.push(systemClock.monotonic() - at);
    startedAt.delete(object.metadata.name);
  }
})();
await sleep(systemClock, 500);
const cpuBefore = process.cpuUsage();
const begin = systemClock.monotonic();
for (let n = 0; n < perSecond * seconds; n++) {
  const dueMs = begin + (n * 1000) / perSecond - systemClock.monotonic();
  if (dueMs > 1) await sleep(systemClock, dueMs);
  const name = `w${n}`;
  startedAt.set(name, systemClock.monotonic());
  const labels = { "workload.kcp.io/cluster": `t${n % targets}` };
  void client
    .resource(widgets)
    .create({ metadata: { name, namespace: "shop", labels }, spec: { color: "red" } });
}
while (back.length < perSecond * seconds) await sleep(systemClock, 100);
const at = (list: number[], part: number) =>
  (list.sort((a, b) => a - b)[Math.floor(list.length * part)] ?? 0).toFixed(1);
const { user, system } = process.cpuUsage(cpuBefore);
process.stdout.write(
  `${targets} targets, ${perSecond} changes/s, ${seconds} s: down ${down.length} p50 ${at(down, 0.5)} ms p99 ${at(down, 0.99)} ms; status back ${back.length} p50 ${at(back, 0.5)} ms p99 ${at(back, 0.99)} ms; rss ${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB; ${((user + system) / 1000 / (perSecond * seconds)).toFixed(2)} ms of processor for each change, all sides together\n`,
);
stop.abort();
await Promise.all([...followers, returns]);
await clusterSet.close();
