/**
 * One controller for a changing number of clusters, whose kubeconfigs are in Secrets of a hub: it
 * counts the namespaces of each.
 */
import { namespaces, secrets } from "kcp-ts/kinds";
import { controllerFor, kubeconfigSecrets, run, silentLog } from "kcp-ts/sdk";
import { eventually, startTestControlPlane } from "kcp-ts/testing";

const hub = await startTestControlPlane();
const clusters = kubeconfigSecrets({ client: hub.client, namespace: "default" });
const counts = new Map<string, number>();
const census = controllerFor(namespaces, { name: "census" }).reconcile(
  async (_, { key: { cluster }, cached }) => {
    counts.set(cluster, cached(namespaces).list().length);
  },
);
const stop = new AbortController();
const running = run({ clusters, controllers: [census], signal: stop.signal, log: silentLog });

// In real life the clusters are there, and somebody else writes the Secrets.
const servers = await Promise.all(["east", "west"].map(() => startTestControlPlane()));
for (const [i, server] of servers.entries()) {
  await server.client.resource(namespaces).create({ metadata: { name: "shop" } });
  const labels = { "sigs.k8s.io/multicluster-runtime-kubeconfig": "true" };
  const metadata = { name: i === 0 ? "east" : "west", namespace: "default", labels };
  const stringData = { kubeconfig: await server.kubeconfig() };
  await hub.client.resource(secrets).create({ metadata, stringData });
}
const names = await eventually(() => {
  const found = [...counts].filter(([, count]) => count > 1).map(([name]) => name);
  if (found.length < 2) throw new Error("not all clusters are counted yet");
  return found.sort();
});
console.log(`shops in ${names.join(" and ")}`);
stop.abort();
await running;
for (const server of [hub, ...servers]) await server.close();
