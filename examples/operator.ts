/** An operator in 40 lines: its kind, its reconciler, and its test under a crash at every write. */
import assert from "node:assert/strict";
import { configMaps } from "kcp-ts/kinds";
import { bool, defineKind, object, string } from "kcp-ts/schema";
import { controlledBy, controllerFor, run, silentLog } from "kcp-ts/sdk";
import { exploreFaults } from "kcp-ts/testing";

export const websites = defineKind({
  group: "example.com",
  version: "v1",
  kind: "Website",
  spec: object({ title: string("Above the page.", { maxLength: 80 }) }, { required: ["title"] }),
  status: object({ ready: bool() }),
});

export const operator = controllerFor(websites)
  .owns(configMaps)
  .reconcile(async (site, { client }) => {
    const { name, namespace } = site.metadata;
    const metadata = { name, namespace, ownerReferences: [controlledBy(site)] };
    const data = { "index.html": `<h1>${site.spec.title}</h1>` };
    await client.resource(configMaps).apply({ metadata, data }, { fieldManager: "operator" });
    await client.resource(websites).setStatus(site, { ready: true });
  });

const { runs } = await exploreFaults(
  async ({ client, runController, eventuallyStable }) => {
    runController((clusters, signal) =>
      run({ clusters, controllers: [operator], signal, log: silentLog }),
    );
    const metadata = { name: "hello", namespace: "default" };
    await client.resource(websites).create({ metadata, spec: { title: "Hello" } });
    const isReady = async () => (await client.resource(websites).get(metadata)).status?.ready;
    await eventuallyStable(async () => assert.ok(await isReady()));
  },
  { crds: [websites.definition] },
);
console.log(runs > 8 ? "no fault breaks it" : "too few runs");
