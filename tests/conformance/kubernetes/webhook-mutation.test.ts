/**
 * The Kubernetes conformance tests of webhooks that change objects, step by step, with webhooks on
 * this machine.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { startSimulatedCluster } from "@kcp-ts/simulator";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventuallyPasses, thingDefinition, version, WebhookFixture } from "./webhook-fixture.ts";
import { initContainer, serveWebhooks } from "./webhooks.ts";

let plane: TestControlPlane;
let fixture: WebhookFixture;
before(async () => {
  plane = await startTestControlPlane({ physicalClusters: false });
});
after(() => plane.close());

let tests = 0;
beforeEach(async () => {
  fixture = await WebhookFixture.open(plane.client.transport, `/clusters/m${tests++}`);
  serveWebhooks(fixture.webhooks);
});
afterEach(() => fixture.close());

const configMaps = "/api/v1/namespaces/default/configmaps";
const group = "webhook.example.com";
const things = (of = "v1") => `/apis/${group}/${of}/namespaces/default/things`;
const thing = (name: string, of = "v1") => ({
  apiVersion: `${group}/${of}`,
  kind: "Thing",
  metadata: { name },
  data: { "mutation-start": "yes" },
});
const twoStages = { "mutation-start": "yes", "mutation-stage-1": "yes", "mutation-stage-2": "yes" };
const stages = (path: string, resource: string, more: object = {}, of = "") =>
  [1, 2].map((stage) =>
    fixture.webhook({ name: `stage-${stage}.example.com`, path, resource, group: of, more }),
  );

describe("webhooks change", () => {
  it("a ConfigMap one after the other, the second seeing what the first has done", async () => {
    await fixture.register("mutating", "c", stages("/mutating-configmaps", "configmaps"));
    const body = { metadata: { name: "to-be-mutated" }, data: { "mutation-start": "yes" } };
    assert.deepEqual((await fixture.expectSuccess("POST", configMaps, body)).data, twoStages);
  });

  it("everything but what their conditions leave out", async () => {
    const matchConditions = [{ name: "skip", expression: "object.metadata.name != 'skip-me'" }];
    const [first] = stages("/mutating-configmaps", "configmaps", { matchConditions });
    await fixture.register("mutating", "c", [first as object]);
    const data = { "mutation-start": "yes" };
    const skipped = await fixture.expectSuccess("POST", configMaps, {
      metadata: { name: "skip-me" },
      data,
    });
    assert.deepEqual(skipped.data, data);
    const changed = await fixture.expectSuccess("POST", configMaps, {
      metadata: { name: "other" },
      data,
    });
    assert.deepEqual(changed.data, { ...data, "mutation-stage-1": "yes" });
  });

  it("custom resources", async () => {
    await fixture.install(thingDefinition({ group, versions: [version("v1")] }));
    const both = stages("/mutating-custom-resource", "things", {}, group);
    await fixture.register("mutating", "c", both);
    assert.deepEqual((await fixture.expectSuccess("POST", things(), thing("a"))).data, twoStages);
  });

  it("custom resources, of which what the schema does not name is pruned", async () => {
    const text = { type: "string" };
    const openAPIV3Schema = {
      type: "object",
      properties: {
        // The second stage is missing.
        data: { type: "object", properties: { "mutation-start": text, "mutation-stage-1": text } },
      },
    };
    const schema = { openAPIV3Schema };
    const versions = [version("v1", { schema }), version("v2", { schema })];
    await fixture.install(thingDefinition({ group, versions }));
    const both = stages("/mutating-custom-resource", "things", {}, group);
    await fixture.register("mutating", "c", both);
    const { data } = await fixture.expectSuccess("POST", things(), thing("a"));
    assert.deepEqual(data, { "mutation-start": "yes", "mutation-stage-1": "yes" });
  });

  it("custom resources that are stored in another version by now", async () => {
    const versions = [version("v1"), version("v2")];
    const definition = await fixture.install(thingDefinition({ group, versions }));
    await fixture.expectSuccess("POST", things(), {
      apiVersion: `${group}/v1`,
      kind: "Thing",
      metadata: { name: "a" },
      data: {},
    });
    const [first, second] = [1, 2].map((stage) =>
      fixture.webhook({
        name: `stage-${stage}.example.com`,
        path: "/mutating-custom-resource",
        resource: "things",
        group,
        operations: ["CREATE", "UPDATE"],
      }),
    );
    await fixture.register("mutating", "c", [first as object, second as object]);
    const stored = versions.map((each, at) => ({ ...each, storage: at === 1 }));
    await fixture.merge(definition, { spec: { versions: stored } });
    await eventuallyPasses(async () => {
      const { status } = await fixture.expectSuccess("GET", definition);
      assert.match(JSON.stringify(status), /"storedVersions":\["v1","v2"\]/);
    });
    const patched = await fixture.merge(`${things()}/a`, { data: { "mutation-start": "yes" } });
    assert.deepEqual(patched.data, twoStages);
    assert.deepEqual((await fixture.expectSuccess("GET", `${things("v2")}/a`)).data, twoStages);
  });

  it("a Pod, and what they add is given its defaults", async (t) => {
    const cluster = await startSimulatedCluster({ name: "east", nodes: 1 });
    t.after(() => cluster.close());
    const east = await WebhookFixture.open(cluster.transport, "");
    t.after(() => east.close());
    serveWebhooks(east.webhooks);
    await east.register("mutating", "c", [
      east.webhook({ name: "init.example.com", path: "/mutating-pods", resource: "pods" }),
    ]);
    const { spec } = await east.expectSuccess("POST", "/api/v1/namespaces/default/pods", {
      metadata: { name: "webhook-to-be-mutated" },
      spec: { containers: [{ name: "example", image: "pause:3" }] },
    });
    const { initContainers } = spec as { initContainers: readonly Record<string, unknown>[] };
    assert.deepEqual(
      initContainers.map(({ name, terminationMessagePolicy }) => [name, terminationMessagePolicy]),
      [[initContainer.name, "File"]],
    );
  });
});
