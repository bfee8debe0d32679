/**
 * One controller for all clusters of an inventory: ClusterProfiles say which there are, and an
 * access provider how to log in.
 */
import { configMaps } from "kcp-ts/kinds";
import {
  clusterProfiles,
  controllerFor,
  parseKubeconfig,
  profiledClusters,
  run,
  silentLog,
} from "kcp-ts/sdk";
import { eventually, startTestControlPlane } from "kcp-ts/testing";

const crd = new URL("../clusterprofiles.crd.yaml", import.meta.url).pathname;
const hub = await startTestControlPlane({ crds: [crd] });
const east = await startTestControlPlane();
const [cluster] = parseKubeconfig(await east.kubeconfig(), { trust: "inline" }).clusters.values();
const [user] = parseKubeconfig(await east.kubeconfig(), { trust: "inline" }).users.values();

const clusters = profiledClusters({
  client: hub.client,
  namespace: "default",
  labelSelector: "env=prod",
  // As users of a kubeconfig, by access provider: mostly `exec`, here a token.
  providers: { "example-login": { token: user?.token ?? "" } },
});
const policy = controllerFor(configMaps, {
  name: "policy",
  selector: { fieldSelector: "metadata.name=policy" },
}).reconcile(async ({ metadata, data }, { client, key: { cluster: name } }) => {
  if (data?.["cluster"] === name) return;
  const patch = { data: { cluster: name } };
  await client.resource(configMaps).patch(metadata, { type: "merge", patch });
});
const stop = new AbortController();
const running = run({ clusters, controllers: [policy], signal: stop.signal, log: silentLog });

// A manager of clusters writes profiles like this one.
const authority = cluster?.certificateAuthority;
const access = {
  server: cluster?.server ?? "",
  "certificate-authority-data": authority && "data" in authority ? btoa(authority.data) : "",
};
const profile = await hub.client
  .resource(clusterProfiles)
  .create({
    metadata: { name: "east", namespace: "default", labels: { env: "prod" } },
    spec: { clusterManager: { name: "example" } },
  });
const accessProviders = [{ name: "example-login", cluster: access }];
await hub.client.resource(clusterProfiles).setStatus(profile, { accessProviders });

const at = { name: "policy", namespace: "default" };
await east.client.resource(configMaps).create({ metadata: at });
const name = await eventually(async () => {
  const { data } = await east.client.resource(configMaps).get(at);
  if (data?.["cluster"] === undefined) throw new Error("the cluster is not known yet");
  return data["cluster"];
});
console.log(`policy of ${name}`);
stop.abort();
await running;
for (const server of [hub, east]) await server.close();
