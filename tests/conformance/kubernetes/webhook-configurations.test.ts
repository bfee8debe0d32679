/**
 * The Kubernetes conformance tests of configurations of webhooks, step by step, with webhooks on
 * this machine.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { configurations, WebhookFixture } from "./webhook-fixture.ts";
import { deniedName, serveWebhooks } from "./webhooks.ts";

let plane: TestControlPlane;
let fixture: WebhookFixture;
before(async () => {
  plane = await startTestControlPlane({ physicalClusters: false });
});
after(() => plane.close());

let tests = 0;
beforeEach(async () => {
  fixture = await WebhookFixture.open(plane.client.transport, `/clusters/c${tests++}`);
  serveWebhooks(fixture.webhooks);
});
afterEach(() => fixture.close());

const configMaps = "/api/v1/namespaces/default/configmaps";
const start = { "mutation-start": "yes" };
const bad = { [deniedName.key]: deniedName.value };
const jsonPatch = "application/json-patch+json";
const name = "change.example.com";

describe("discovery", () => {
  it("names the group, its version and both kinds of configurations", async () => {
    const group = "admissionregistration.k8s.io";
    interface Group {
      readonly name: string;
      readonly versions: readonly { readonly groupVersion: string; readonly version: string }[];
    }
    const isServed = ({ versions }: Group) =>
      versions.some(
        ({ groupVersion, version }) => groupVersion === `${group}/v1` && version === "v1",
      );
    const { groups } = await fixture.expectSuccess("GET", "/apis");
    const found = (groups as readonly Group[]).find((each) => each.name === group);
    assert.ok(found !== undefined && isServed(found));
    assert.ok(isServed((await fixture.expectSuccess("GET", `/apis/${group}`)) as unknown as Group));
    const { resources } = await fixture.expectSuccess("GET", `/apis/${group}/v1`);
    const names = (resources as readonly { readonly name: string }[]).map((each) => each.name);
    for (const kind of ["mutating", "validating"])
      assert.ok(names.includes(`${kind}webhookconfigurations`));
  });
});

/** What one kind of webhook does to ConfigMaps, and how that is seen. */
const kinds = {
  validating: {
    path: "/configmaps",
    data: bad,
    acts: async (at: string) => {
      const { status } = await fixture.send("POST", configMaps, {
        metadata: { name: at },
        data: bad,
      });
      return status >= 400;
    },
  },
  mutating: {
    path: "/mutating-configmaps",
    data: start,
    acts: async (at: string) => {
      const body = { metadata: { name: at }, data: start };
      return (
        (await fixture.expectSuccess("POST", configMaps, body)).data?.["mutation-stage-1"] === "yes"
      );
    },
  },
} as const;

for (const kind of ["validating", "mutating"] as const) {
  const { path, acts } = kinds[kind];
  const webhook = (more: object = {}, operations = ["CREATE"]) =>
    fixture.webhook({ name, path, resource: "configmaps", operations, more });

  describe(`a configuration of ${kind} webhooks`, () => {
    it("is heeded as updates and patches change it", async () => {
      const target = await fixture.register(kind, "c", [webhook()]);
      assert.equal(await acts("one"), true);
      const found = await fixture.expectSuccess("GET", target);
      await fixture.expectSuccess("PUT", target, { ...found, webhooks: [webhook({}, ["UPDATE"])] });
      assert.equal(await acts("two"), false, "it is not asked about creations any more");
      const restored = [
        { op: "replace", path: "/webhooks/0/rules/0/operations", value: ["CREATE"] },
      ];
      await fixture.expectSuccess("PATCH", target, restored, jsonPatch);
      assert.equal(await acts("three"), true);
    });

    it("is listed by labels, and heeded no more when the list is deleted", async () => {
      const labels = { "list-test": "one" };
      for (let at = 0; at < 10; at++) await fixture.register(kind, `c${at}`, [webhook()], labels);
      await fixture.register(kind, "other", [
        fixture.webhook({ name, path, resource: "secrets", operations: ["CREATE"] }),
      ]);
      const list = `${configurations(kind)}?labelSelector=${encodeURIComponent("list-test=one")}`;
      assert.equal((await fixture.expectSuccess("GET", list)).items?.length, 10);
      assert.equal(await acts("one"), true);
      await fixture.expectSuccess("DELETE", list);
      assert.equal((await fixture.expectSuccess("GET", list)).items?.length, 0);
      assert.equal(await acts("two"), false);
      assert.equal((await fixture.expectSuccess("GET", configurations(kind))).items?.length, 1);
    });

    it("is created and updated with conditions", async () => {
      const conditions = (text: string) => ({
        matchConditions: [{ name: "expression-1", expression: text }],
      });
      const inProduction = "object.metadata.namespace == 'production'";
      const inStaging = "object.metadata.namespace == 'staging'";
      const target = await fixture.register(kind, "c", [webhook(conditions(inProduction))]);
      const read = async () => {
        const { webhooks } = await fixture.expectSuccess("GET", target);
        return (webhooks as readonly { readonly matchConditions: unknown }[])[0]?.matchConditions;
      };
      assert.deepEqual(await read(), conditions(inProduction).matchConditions);
      const found = await fixture.expectSuccess("GET", target);
      await fixture.expectSuccess("PUT", target, {
        ...found,
        webhooks: [webhook(conditions(inStaging))],
      });
      assert.deepEqual(await read(), conditions(inStaging).matchConditions);
      assert.equal(await acts("one"), false, "this namespace is another one");
    });

    it("is refused with conditions that do not compile", async () => {
      const matchConditions = [{ name: "invalid-1", expression: "... [] bad expression" }];
      const body = { metadata: { name: "c" }, webhooks: [webhook({ matchConditions })] };
      await fixture.expectError(/compilation failed/, "POST", configurations(kind), body);
    });
  });
}
