/**
 * The Kubernetes conformance tests of webhooks that deny, step by step, with webhooks on this
 * machine.
 */
import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { startSimulatedCluster } from "@kcp-ts/simulator";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { FakeClock } from "@kcp-ts/testkit";
import {
  configurations,
  eventuallyPasses,
  thingDefinition,
  version,
  WebhookFixture,
} from "./webhook-fixture.ts";
import { deniedName, serveWebhooks } from "./webhooks.ts";

let plane: TestControlPlane;
let fixture: WebhookFixture;
before(async () => {
  plane = await startTestControlPlane({ physicalClusters: false });
});
after(() => plane.close());

let tests = 0;
beforeEach(async () => {
  fixture = await WebhookFixture.open(plane.client.transport, `/clusters/w${tests++}`);
  serveWebhooks(fixture.webhooks);
});
afterEach(() => fixture.close());

const configMaps = "/api/v1/namespaces/default/configmaps";
const bad = { [deniedName.key]: deniedName.value };
const group = "webhook.example.com";
const things = `/apis/${group}/v1/namespaces/default/things`;
const thing = (name: string, data: object) => ({
  apiVersion: `${group}/v1`,
  kind: "Thing",
  metadata: { name },
  data,
});

describe("a webhook denies", () => {
  it("custom resources on creation, update and deletion, until what it minds is gone", async () => {
    await fixture.install(thingDefinition({ group, versions: [version("v1")] }));
    const operations = ["CREATE", "UPDATE", "DELETE"];
    const judge = { name: "deny-data.example.com", path: "/custom-resource", group, operations };
    await fixture.register("validating", "c", [fixture.webhook({ ...judge, resource: "things" })]);
    await fixture.expectError(/contains unwanted data/, "POST", things, thing("bad", bad));
    const kept = { [deniedName.key]: "webhook-nondeletable" };
    const created = await fixture.expectSuccess("POST", things, thing("kept", kept));
    const spoilt = { ...created, data: bad };
    await fixture.expectError(/contains unwanted data/, "PUT", `${things}/kept`, spoilt);
    await fixture.expectError(/cannot be deleted because/, "DELETE", `${things}/kept`);
    await fixture.merge(`${things}/kept`, { data: { [deniedName.key]: null } });
    await fixture.expectSuccess("DELETE", `${things}/kept`);
    assert.equal((await fixture.send("GET", `${things}/kept`)).status, 404);
  });

  it("the creation of definitions", async () => {
    const judge = {
      name: "deny-crd.example.com",
      path: "/crd",
      group: "apiextensions.k8s.io",
      resource: "customresourcedefinitions",
    };
    await fixture.register("validating", "c", [fixture.webhook(judge)]);
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const definition = thingDefinition({ group, versions: [version("v1")] });
    const metadata = { ...definition.metadata, labels: bad };
    await fixture.expectError(/the crd contains unwanted label/, "POST", path, {
      ...definition,
      metadata,
    });
    await fixture.expectSuccess("POST", path, definition);
  });

  it("everything where it cannot be called and its policy is to fail", async () => {
    await fixture.expectSuccess("POST", "/api/v1/namespaces", {
      metadata: { name: "closed", labels: { "fail-closed-webhook": "yes" } },
    });
    const namespaceSelector = { matchLabels: { "fail-closed-webhook": "yes" } };
    const unreachable = fixture.webhook({
      name: "fail-closed.example.com",
      path: "/configmaps",
      resource: "configmaps",
      isTrusted: false,
      more: { failurePolicy: "Fail", namespaceSelector },
    });
    await fixture.register("validating", "c", [unreachable]);
    const closed = "/api/v1/namespaces/closed/configmaps";
    const { status, object } = await fixture.send("POST", closed, { metadata: { name: "foo" } });
    assert.deepEqual([status, object.reason], [500, "InternalError"]);
    await fixture.expectSuccess("POST", configMaps, { metadata: { name: "foo" } });
  });

  it("neither the deletion of configurations of webhooks nor does one change them", async () => {
    const group = "admissionregistration.k8s.io";
    const kinds = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] as const;
    const on = (path: string, operation: string) =>
      kinds.map((resource, at) =>
        fixture.webhook({
          name: `own-${at}.example.com`,
          path,
          group,
          resource,
          operations: [operation],
        }),
      );
    await fixture.register("validating", "blocking", on("/always-deny", "DELETE"));
    await fixture.register("mutating", "changing", on("/add-label", "CREATE"));
    const dummy = fixture.webhook({
      name: "dummy.example.com",
      path: "/",
      resource: "invalid",
      more: { failurePolicy: "Ignore" },
    });
    for (const kind of ["validating", "mutating"] as const) {
      const path = await fixture.register(kind, "dummy", [dummy]);
      const { metadata } = await fixture.expectSuccess("GET", path);
      assert.equal(metadata.labels, undefined);
      await fixture.expectSuccess("DELETE", path);
      assert.equal((await fixture.send("GET", path)).status, 404);
    }
    assert.deepEqual(fixture.webhooks.requests, []);
    assert.equal(
      (await fixture.expectSuccess("GET", configurations("validating"))).items?.length,
      1,
    );
  });
});

describe("a webhook on Pods", () => {
  const pods = "/api/v1/namespaces/default/pods";
  const pod = (name: string, mark: string) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { [deniedName.key]: mark } },
    spec: { containers: [{ name: mark, image: "pause:3" }] },
  });
  const onlyHere = {
    namespaceSelector: {
      matchExpressions: [{ key: "skip-webhook", operator: "NotIn", values: ["yes"] }],
    },
  };

  const labelled = (operator: "In" | "NotIn") => ({
    matchExpressions: [{ key: deniedName.key, operator, values: ["wait-forever"] }],
  });

  it("denies Pods and ConfigMaps, and creation fails when it takes too long", async (t) => {
    const cluster = await startSimulatedCluster({ name: "east", nodes: 1 });
    t.after(() => cluster.close());
    const east = await WebhookFixture.open(cluster.transport, "");
    t.after(() => east.close());
    serveWebhooks(east.webhooks);
    const both = ["CREATE", "UPDATE"];
    await east.register("validating", "c", [
      east.webhook({
        name: "deny-pods.example.com",
        path: "/pods",
        resource: "pods",
        more: { timeoutSeconds: 30, objectSelector: labelled("NotIn"), ...onlyHere },
      }),
      // It is given little time only where it never answers, so that a busy machine changes
      // nothing.
      east.webhook({
        name: "hang-pods.example.com",
        path: "/pods",
        resource: "pods",
        more: { timeoutSeconds: 1, objectSelector: labelled("In"), ...onlyHere },
      }),
      east.webhook({
        name: "deny-configmaps.example.com",
        path: "/configmaps",
        resource: "configmaps",
        operations: both,
        more: onlyHere,
      }),
      // Nobody believes its certificate, and nobody minds.
      east.webhook({
        name: "fail-open.example.com",
        path: "/configmaps",
        resource: "configmaps",
        isTrusted: false,
        more: { failurePolicy: "Ignore" },
      }),
    ]);
    const denied = await east.expectError(
      /unwanted label/,
      "POST",
      pods,
      pod("bad", deniedName.value),
    );
    assert.match(denied.object.message ?? "", /the pod contains unwanted container name/);
    const hanging = await east.expectError(/webhook/, "POST", pods, pod("slow", "wait-forever"));
    assert.match(hanging.object.message ?? "", /deadline/);
    assert.equal((await east.send("GET", `${pods}/slow`)).status, 404);
    const says = /the configmap contains unwanted key and value/;
    const spoilt = { metadata: { name: "bad" }, data: bad };
    await east.expectError(says, "POST", configMaps, spoilt);
    const created = await east.expectSuccess("POST", configMaps, {
      metadata: { name: "good" },
      data: { admit: "this" },
    });
    const data = { ...created.data, ...bad };
    await east.expectError(says, "PUT", `${configMaps}/good`, { ...created, data });
    const strategic = "application/strategic-merge-patch+json";
    await east.expectError(says, "PATCH", `${configMaps}/good`, { data: bad }, strategic);
    await east.expectSuccess("POST", "/api/v1/namespaces", {
      metadata: { name: "exempt", labels: { "skip-webhook": "yes" } },
    });
    await east.expectSuccess("POST", "/api/v1/namespaces/exempt/configmaps", spoilt);
  });
});

describe("the time that a webhook has", () => {
  it("is the one it asks for, or ten seconds; a failure after it is what its policy makes of it", async (t) => {
    const own = await startTestControlPlane({ clock: "fake", controlLoops: false });
    t.after(() => own.close());
    const slow = await WebhookFixture.open(own.client.transport, "/clusters/slow");
    t.after(() => slow.close());
    const arrived: (() => void)[] = [];
    slow.webhooks.serve("/slow", () => new Promise((resolve) => arrived.push(() => resolve({}))));
    const { clock } = own;
    assert.ok(clock instanceof FakeClock);
    /** A creation, `seconds` after its webhook was asked; then the webhook answers. */
    const created = async (name: string, more: object, seconds: number) => {
      const path = await slow.register("validating", "c", [
        slow.webhook({ name: "slow.example.com", path: "/slow", resource: "configmaps", more }),
      ]);
      const pending = slow.send("POST", configMaps, { metadata: { name } });
      await eventuallyPasses(async () => assert.equal(arrived.length, 1));
      await clock.advanceAndFlush(seconds * 1000);
      arrived.pop()?.();
      const reply = await pending;
      await slow.expectSuccess("DELETE", path);
      return reply;
    };
    const failed = await created("a", { timeoutSeconds: 1, failurePolicy: "Fail" }, 5);
    assert.equal(failed.status, 500);
    assert.match(failed.object.message ?? "", /\/slow\?timeout=1s/);
    assert.match(failed.object.message ?? "", /context deadline exceeded/);
    const ignored = await created("b", { timeoutSeconds: 1, failurePolicy: "Ignore" }, 5);
    assert.equal(ignored.status, 201);
    const long = await created("c", { timeoutSeconds: 10, failurePolicy: "Fail" }, 5);
    assert.equal(long.status, 201);
    assert.equal((await created("d", { failurePolicy: "Fail" }, 5)).status, 201);
    const tenth = await created("e", { failurePolicy: "Fail" }, 10);
    assert.match(tenth.object.message ?? "", /\?timeout=10s.*context deadline exceeded/);
  });
});
