/**
 * How long `exploreFaults` takes for every crash point of a controller with 20 writes. Prints one
 * line of JSON; asserts nothing.
 */
import { Controller, silentLog, singleCluster } from "@kcp-ts/sdk";
import { configMaps, secrets } from "@kcp-ts/sdk/kinds";
import { exploreFaults } from "./explore-faults.ts";

const writesWanted = Number(process.env["BENCH_WRITES"] ?? 20);
const at = { name: "order", namespace: "default" };

const startedAtMs = performance.now();
const before = process.cpuUsage();
const { writes, runs } = await exploreFaults(
  async ({ client, runController, eventuallyStable }) => {
    runController(async (given, signal) => {
      const clusters = singleCluster({ client: given, log: silentLog });
      const controller = new Controller({
        name: "orders",
        clusters,
        log: silentLog,
        async reconcile({ namespace }, { client: own }) {
          for (let n = 0; n < writesWanted; n++)
            await own.resource(secrets).apply({ metadata: { name: `item-${n}`, namespace } });
        },
      }).watch(configMaps, { selector: { fieldSelector: `metadata.name=${at.name}` } });
      await Promise.all([clusters.run(signal), controller.run({ signal })]);
    });
    await client.resource(configMaps).create({ metadata: at });
    await eventuallyStable(async () => {
      const { items } = await client.resource(secrets).list({ namespace: at.namespace });
      if (items.length < writesWanted) throw new Error(`${items.length} of ${writesWanted}`);
    });
  },
  { patterns: ["crash"] },
);
const { user, system } = process.cpuUsage(before);
console.log(
  JSON.stringify({
    writes: writes.length,
    runs,
    ms: performance.now() - startedAtMs,
    cpuMicros: user + system,
  }),
);
