/**
 * A multi-tenant controller over an APIExport: a provider offers cowboys, two workspaces bind to
 * them, and one reconciler does what they intend, through a single watch. It has no rights in the
 * workspaces of its consumers but those that the export gives.
 */
import {
  Controller,
  type DynamicObject,
  defineResource,
  exportConsumers,
  Manager,
} from "kcp-ts/sdk";
import { eventually, startTestControlPlane } from "kcp-ts/testing";

const define = (group: string, version: string, kind: string, namespaced = false) =>
  defineResource<DynamicObject>({
    group,
    version,
    kind,
    namespaced,
    resource: `${kind.toLowerCase()}s`,
  });
const cowboys = define("wildwest.dev", "v1alpha1", "Cowboy", true);
const schemas = define("apis.kcp.io", "v1alpha1", "APIResourceSchema");
const exports = define("apis.kcp.io", "v1alpha2", "APIExport");
const bindings = define("apis.kcp.io", "v1alpha2", "APIBinding");

const k = await startTestControlPlane();
const provider = k.clientFor("provider");
const text = { type: "string" };
await provider
  .resource(schemas)
  .create({
    metadata: { name: "v1.cowboys.wildwest.dev" },
    spec: {
      group: "wildwest.dev",
      names: { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" },
      scope: "Namespaced",
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { intent: text } },
              status: { type: "object", properties: { result: text } },
            },
          },
        },
      ],
    },
  });
await provider
  .resource(exports)
  .create({
    metadata: { name: "cowboys" },
    spec: {
      resources: [{ name: "cowboys", group: "wildwest.dev", schema: "v1.cowboys.wildwest.dev" }],
    },
  });
const reference = { export: { path: "provider", name: "cowboys" } };
for (const consumer of ["blue", "red"]) {
  const client = k.clientFor(consumer).resource(bindings);
  await client.create({ metadata: { name: "cowboys" }, spec: { reference } });
}

const clusters = await exportConsumers({ client: provider, endpointSlice: "cowboys" });
const controller = new Controller({
  name: "cowboys",
  clusters,
  async reconcile({ cluster, namespace, name }, { client }) {
    const found = await client.resource(cowboys).find({ namespace, name });
    const { intent } = (found?.["spec"] ?? {}) as { intent?: string };
    const { result } = (found?.["status"] ?? {}) as { result?: string };
    if (intent === undefined || result === `${cluster}: ${intent} is done`) return;
    const patch = { status: { result: `${cluster}: ${intent} is done` } };
    const status = client.resource(cowboys).subresource("status");
    await status.patch({ namespace, name }, { type: "merge", patch });
  },
}).watch(cowboys);
const stop = new AbortController();
const running = new Manager({ clusters: [clusters], controllers: [controller] }).run(stop.signal);

const metadata = { name: "luke", namespace: "default" };
await eventually(() =>
  k
    .clientFor("blue")
    .resource(cowboys)
    .create({ metadata, spec: { intent: "ride" } }),
);
await eventually(() =>
  k
    .clientFor("red")
    .resource(cowboys)
    .create({ metadata, spec: { intent: "rest" } }),
);
for (const consumer of ["blue", "red"]) {
  const result = await eventually(async () => {
    const luke = await k.clientFor(consumer).resource(cowboys).get(metadata);
    const status = luke["status"] as { result?: string } | undefined;
    if (status?.result === undefined) throw new Error("nothing was done yet");
    return status.result;
  });
  console.log(result);
}
stop.abort();
await running;
await k.close();
