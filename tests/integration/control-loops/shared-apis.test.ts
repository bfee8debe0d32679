/**
 * Goal: the control loops treat objects of shared APIs as all others: garbage is collected, and
 * namespaces take them along.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type DynamicObject, defineResource } from "@kcp-ts/sdk";
import { startTestControlPlane } from "@kcp-ts/testing";
import { eventually } from "@kcp-ts/testkit";

const define = (group: string, version: string, kind: string, namespaced: boolean) =>
  defineResource<DynamicObject>({
    group,
    version,
    kind,
    namespaced,
    resource: `${kind.toLowerCase()}s`,
  });
const cowboys = define("wildwest.dev", "v1", "Cowboy", true);
const configMaps = define("", "v1", "ConfigMap", true);
const namespaces = define("", "v1", "Namespace", false);
const schemas = define("apis.kcp.io", "v1alpha1", "APIResourceSchema", false);
const exports = define("apis.kcp.io", "v1alpha2", "APIExport", false);
const bindings = define("apis.kcp.io", "v1alpha2", "APIBinding", false);

describe("objects of a shared API", () => {
  it("go with their owner, and with their namespace", async () => {
    const k = await startTestControlPlane();
    const provider = k.clientFor("provider");
    await provider
      .resource(schemas)
      .create({
        metadata: { name: "today.cowboys.wildwest.dev" },
        spec: {
          group: "wildwest.dev",
          names: { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" },
          scope: "Namespaced",
          versions: [{ name: "v1", served: true, storage: true, schema: { type: "object" } }],
        },
      });
    const schema = "today.cowboys.wildwest.dev";
    await provider
      .resource(exports)
      .create({
        metadata: { name: "cowboys" },
        spec: { resources: [{ name: "cowboys", group: "wildwest.dev", schema }] },
      });
    const consumer = k.clientFor("consumer");
    await consumer
      .resource(bindings)
      .create({
        metadata: { name: "cowboys" },
        spec: { reference: { export: { path: "provider", name: "cowboys" } } },
      });
    await consumer.resource(namespaces).create({ metadata: { name: "west" } });
    const namespace = "west";
    const owner = await consumer
      .resource(configMaps)
      .create({ metadata: { name: "owner", namespace } });
    const uid = String(owner.metadata.uid);
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid }];
    const make = (name: string, more: object) =>
      eventually(() =>
        consumer.resource(cowboys).create({ metadata: { name, namespace, ...more } }),
      );
    await make("owned", { ownerReferences });
    await make("free", {});
    await consumer.resource(configMaps).delete({ name: "owner", namespace });
    const left = () => consumer.resource(cowboys).list({ namespace });
    await eventually(async () => {
      const names = (await left()).items.map(({ metadata }) => metadata.name);
      assert.deepEqual(names, ["free"]);
    });
    await consumer.resource(namespaces).delete({ name: namespace });
    await eventually(async () => {
      assert.equal(await consumer.resource(namespaces).find({ name: namespace }), undefined);
      assert.deepEqual((await left()).items, []);
    });
    await k.close();
  });
});
