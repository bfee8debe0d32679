/**
 * The controllers that negotiate APIs and schedule workspaces, under crashes after each of their
 * writes and under every pattern of faults.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  apiResourceImports,
  negotiatedApiResources,
  runMulticluster,
  syncTargets,
} from "@kcp-ts/multicluster";
import { customResourceDefinitions } from "@kcp-ts/sdk/kinds";
import { exploreFaults, type FaultyTest } from "@kcp-ts/testing";

const timeoutMs = 20_000;
const plural = "widgets";
const group = "example.com";

const negotiates: FaultyTest = async ({ client, runController, eventuallyStable }) => {
  runController((given, signal) => {
    const { clock, random } = given;
    const controllers = new Set(["api-negotiation", "scheduler"] as const);
    return runMulticluster({ client: given, controllers, clock, random, onError() {} }, signal);
  });
  const imports = client.resource(apiResourceImports);
  const offer = async (location: string, fields: readonly string[]) => {
    await client.resource(syncTargets).create({ metadata: { name: location }, spec: {} } as never);
    const properties = Object.fromEntries(fields.map((name) => [name, { type: "string" }]));
    await imports.create({
      metadata: { name: `${plural}.${location}.v1.${group}` },
      spec: {
        location,
        schemaUpdateStrategy: "UpdatePublished",
        groupVersion: { group, version: "v1" },
        scope: "Namespaced",
        plural,
        kind: "Widget",
        openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } },
      },
    });
  };
  const published = async () => {
    const found = await client
      .resource(customResourceDefinitions)
      .find({ name: `${plural}.${group}` });
    const [version] = found?.spec.versions ?? [];
    const schema = version?.schema?.openAPIV3Schema as
      | { properties: { spec: { properties: object } } }
      | undefined;
    return schema && Object.keys(schema.properties.spec.properties).sort();
  };
  await offer("east", ["color", "size"]);
  await eventuallyStable(async () => assert.deepEqual(await published(), ["color", "size"]), {
    timeoutMs,
  });
  await offer("west", ["color"]);
  await eventuallyStable(async () => assert.deepEqual(await published(), ["color"]), { timeoutMs });
  for (const location of ["east", "west"])
    await imports.delete({ name: `${plural}.${location}.v1.${group}` });
  await eventuallyStable(
    async () => {
      const { items } = await client.resource(negotiatedApiResources).list();
      assert.deepEqual(items, []);
      assert.equal(await published(), undefined);
    },
    { timeoutMs },
  );
};

describe("the negotiation of APIs", () => {
  it("publishes and withdraws the same after a crash at each write, and under all faults", async () => {
    const { writes, runs } = await exploreFaults(negotiates, {
      physicalClusters: false,
      crashesMax: 8,
    });
    assert.ok(writes.length >= 6);
    assert.ok(runs > 20);
  });
});
