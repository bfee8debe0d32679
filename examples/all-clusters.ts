/**
 * One controller for all tenants: it writes the tenant on every ConfigMap that is to be billed, in
 * every logical cluster, those made later included, through a single watch. The server selects.
 *
 * It needs the right to read all logical clusters. A service for tenants who bind its API watches
 * an APIExport's virtual workspace instead: see export-controller.ts.
 */
import { configMaps } from "kcp-ts/kinds";
import { controllerFor, logicalClusters, run, silentLog } from "kcp-ts/sdk";
import { eventually, startTestControlPlane } from "kcp-ts/testing";

const k = await startTestControlPlane();
const selector = { labelSelector: "billed=yes" };
const billing = controllerFor(configMaps, { name: "billing", selector, concurrency: 8 }).reconcile(
  // The key says which logical cluster, and the client speaks to that one.
  async ({ metadata }, { client, key: { cluster, namespace, name } }) => {
    if (metadata.labels?.["tenant"] === cluster) return;
    const patch = { metadata: { labels: { tenant: cluster } } };
    await client.resource(configMaps).patch({ namespace, name }, { type: "merge", patch });
  },
);
const clusters = logicalClusters({ client: k.client });
const stop = new AbortController();
const running = run({ clusters, controllers: [billing], signal: stop.signal, log: silentLog });

for (const tenant of ["team-a", "team-b", "team-c"]) {
  const metadata = { name: "app", namespace: "default", labels: { billed: "yes" } };
  await k.clientFor(tenant).resource(configMaps).create({ metadata });
}
const labels = await eventually(async () => {
  const fieldSelector = "metadata.name=app";
  const { items } = await k.clientFor("*").resource(configMaps).list({ fieldSelector });
  const found = items.map(({ metadata }) => metadata.labels?.["tenant"]);
  if (found.includes(undefined)) throw new Error("not all of them are labelled yet");
  return found.sort();
});
console.log(labels.join(" "));
stop.abort();
await running;
await k.close();
