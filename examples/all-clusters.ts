/**
 * One controller for all tenants: it labels every ConfigMap in every logical cluster, those made
 * later included, through a single watch.
 *
 * It needs the right to read all logical clusters. A service for tenants who bind its API watches
 * an APIExport's virtual workspace instead: see export-controller.ts.
 */
import { configMaps } from "kcp-ts/kinds";
import { Controller, logicalClusters, Manager } from "kcp-ts/sdk";
import { eventually, startTestControlPlane } from "kcp-ts/testing";

const k = await startTestControlPlane();
const clusters = logicalClusters({ client: k.client });
const controller = new Controller({
  name: "owner-label",
  clusters,
  concurrency: 8,
  // The key says which logical cluster, and the client speaks to that one.
  async reconcile({ cluster, namespace, name }, { client }) {
    const at = { namespace, name };
    const found = await client.resource(configMaps).find(at);
    if (found === undefined || found.metadata.labels?.["tenant"] === cluster) return;
    const patch = { metadata: { labels: { tenant: cluster } } };
    await client.resource(configMaps).patch(at, { type: "merge", patch });
  },
}).watch(configMaps);
const stop = new AbortController();
const running = new Manager({ clusters: [clusters], controllers: [controller] }).run(stop.signal);

for (const tenant of ["team-a", "team-b", "team-c"]) {
  const metadata = { name: "app", namespace: "default" };
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
