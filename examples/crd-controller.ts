/**
 * A custom resource and its controller: every Website gets a ConfigMap with its page. Here against
 * a server in this process.
 */
import { inLogicalCluster } from "kcp-ts";
import { configMaps } from "kcp-ts/kinds";
import {
  defineResource,
  type KubernetesObject,
  type ObjectKey,
  type ReconcileContext,
  rootCluster,
} from "kcp-ts/sdk";
import { eventually, startTestControlPlane } from "kcp-ts/testing";

interface Website extends KubernetesObject {
  readonly spec: { readonly title: string; readonly pages?: number };
  readonly status?: { readonly ready?: boolean };
}
const websites = defineResource<Website>({
  group: "example.com",
  version: "v1",
  resource: "websites",
  kind: "Website",
  namespaced: true,
});

async function reconcile(key: ObjectKey, { client }: ReconcileContext): Promise<void> {
  const site = await client.resource(websites).find(key);
  if (site === undefined) return; // What it owned goes with it.
  const { name, namespace, uid = "" } = site.metadata;
  const owner = { apiVersion: "example.com/v1", kind: "Website", name, uid, controller: true };
  const metadata = { name, namespace: namespace ?? "", ownerReferences: [owner] };
  const data = { "index.html": `<h1>${site.spec.title}</h1>` };
  await client.resource(configMaps).apply({ metadata, data }, { fieldManager: "website" });
  const patch = { status: { ready: true } };
  await client.resource(websites).patchStatus(key, { type: "merge", patch });
}

const crd = new URL("../website.crd.yaml", import.meta.url).pathname;
const controllers = [
  inLogicalCluster(rootCluster, { name: "website", watch: [websites], reconcile }),
];
const k = await startTestControlPlane({ crds: [crd], controllers });
const at = { name: "hello", namespace: "default" };
await k.client.resource(websites).create({ metadata: at, spec: { title: "Hello" } });
const page = await eventually(() => k.client.resource(configMaps).get(at));
console.log(page.data?.["index.html"]);
await k.close();
