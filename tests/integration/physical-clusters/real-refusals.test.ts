/**
 * Goal: what a real cluster refuses is said on the object and in an Event, in words that name the
 * next step, and is over when the reason is.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { clusterLabel, downstreamLabel, syncTargets } from "@kcp-ts/multicluster";
import { type Client, type DynamicObject, defineResource, findCondition } from "@kcp-ts/sdk";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually as eventuallyWithin, kubeControllerManagerMissing } from "@kcp-ts/testkit";
import { startRealCluster, type TestCluster } from "../../scenarios/test-environments/index.ts";
import { deployment, deployments, fastProbes, register } from "./fixture.ts";

const of = (group: string, version: string, resource: string, kind: string, namespaced = true) =>
  defineResource<DynamicObject>({ group, version, resource, kind, namespaced });
const configMaps = of("", "v1", "configmaps", "ConfigMap");
const quotas = of("", "v1", "resourcequotas", "ResourceQuota");
const events = of("", "v1", "events", "Event");
const gadgets = of("example.com", "v1", "gadgets", "Gadget");
const admission = "admissionregistration.k8s.io";
const policies = of(
  admission,
  "v1",
  "validatingadmissionpolicies",
  "ValidatingAdmissionPolicy",
  false,
);
const bindings = of(
  admission,
  "v1",
  "validatingadmissionpolicybindings",
  "ValidatingAdmissionPolicyBinding",
  false,
);
const webhooks = of(
  admission,
  "v1",
  "validatingwebhookconfigurations",
  "ValidatingWebhookConfiguration",
  false,
);
const definitions = of(
  "apiextensions.k8s.io",
  "v1",
  "customresourcedefinitions",
  "CustomResourceDefinition",
  false,
);

const target = "east";
const namespace = "default";
const synced = ["configmaps", "deployments.apps", "gadgets.example.com"];

const gadgetDefinition = {
  metadata: { name: "gadgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "gadgets", singular: "gadget", kind: "Gadget", listKind: "GadgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec: { type: "object", properties: { load: { type: "string" } } } },
          },
        },
      },
    ],
  },
};

/** A machine may be slow: how long something takes decides no test. */
function eventually<Value>(check: () => Value | Promise<Value>): Promise<Value> {
  return eventuallyWithin(check, { timeoutMs: 180_000, intervalMs: 100 });
}

interface Told {
  readonly reason?: string;
  readonly message?: string;
}

describe("what a real cluster refuses", { skip: kubeControllerManagerMissing() ?? false }, () => {
  let cluster: TestCluster;
  let plane: TestControlPlane;
  let up: Client;
  let down: Client;
  /** The namespace in the cluster. */
  let there: string;

  before(async () => {
    cluster = await startRealCluster(target, [{ name: "one" }]);
    down = cluster.client;
    await down.resource(definitions).create(gadgetDefinition);
    plane = await startTestControlPlane({ physicalClusters: fastProbes });
    up = plane.client;
    await register(up, target, { kubeconfig: cluster.kubeconfig, resources: synced });
    await eventually(async () => {
      const { status } = await up.resource(syncTargets).get({ name: target });
      for (const kind of synced) assert.ok(status?.syncedResources?.includes(kind), kind);
    });
    await create(configMaps, "first", { data: { a: "1" } });
    there = await eventually(async () => {
      const { items } = await down.resource(configMaps).list({ labelSelector: downstreamLabel });
      const found = items.find(({ metadata }) => metadata.name === "first");
      return found?.metadata.namespace ?? assert.fail("it is not there");
    });
  });
  after(async () => {
    await plane?.close();
    await cluster?.close();
  });

  async function create(
    resource: typeof configMaps,
    name: string,
    body: object,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const metadata = { name, namespace, labels: { [clusterLabel]: target, ...labels } };
    await up.resource(resource).create({ ...body, metadata });
  }

  /** On the object, and in an Event about it, in the same words. */
  async function isTold(
    resource: typeof configMaps,
    name: string,
    reason: string,
    words: RegExp,
  ): Promise<void> {
    await eventually(async () => {
      const { metadata } = await up.resource(resource).get({ namespace, name });
      const text = metadata.annotations?.[`sync-error.workload.kcp.io/${target}`] ?? "{}";
      const { reason: told, message = "" } = JSON.parse(text) as Told;
      assert.equal(told, reason, text);
      assert.match(message, words);
      const { items } = await up.resource(events).list({ namespace });
      const about = items.filter(
        (one) => (one["involvedObject"] as { name?: string }).name === name,
      );
      assert.ok(about.some((one) => one["message"] === message));
    });
  }

  async function isThere(resource: typeof configMaps, name: string): Promise<void> {
    await eventually(async () => {
      assert.ok((await down.resource(resource).find({ namespace: there, name })) !== undefined);
      const { metadata } = await up.resource(resource).get({ namespace, name });
      assert.equal(metadata.annotations?.[`sync-error.workload.kcp.io/${target}`], undefined);
    });
  }

  /**
   * Somebody in the cluster tries until it is refused: rules there count a moment after they were
   * made.
   */
  async function untilRefused(labels: Readonly<Record<string, string>>): Promise<void> {
    await eventually(async () => {
      const probe = { metadata: { generateName: "probe-", namespace: there, labels } };
      const made = await down
        .resource(configMaps)
        .create(probe as never, { dryRun: true })
        .catch(() => undefined);
      assert.equal(made, undefined, "nobody refuses it yet");
    });
  }

  it("a quota", async () => {
    const spec = { hard: { "count/configmaps": "1" } };
    await down
      .resource(quotas)
      .create({ metadata: { name: "small", namespace: there }, spec } as never);
    await untilRefused({});
    await create(configMaps, "second", {});
    await isTold(configMaps, "second", "QuotaExceeded", /exceeded quota: small.*raise it there/);
    await down.resource(quotas).delete({ namespace: there, name: "small" });
    await isThere(configMaps, "second");
  });

  it("a policy of the cluster", async () => {
    const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"] };
    const name = "no-red";
    await down
      .resource(policies)
      .create({
        metadata: { name },
        spec: {
          matchConstraints: { resourceRules: [{ ...rule, resources: ["configmaps"] }] },
          validations: [
            {
              expression: "!has(object.metadata.labels) || !('color' in object.metadata.labels)",
              message: "nothing has a color here",
            },
          ],
        },
      });
    await down
      .resource(bindings)
      .create({ metadata: { name }, spec: { policyName: name, validationActions: ["Deny"] } });
    await untilRefused({ color: "red" });
    await create(configMaps, "red", {}, { color: "red" });
    const words = /nothing has a color here.*change it so that it is allowed, or ask who runs/;
    await isTold(configMaps, "red", "AdmissionRefused", words);
    await down.resource(bindings).delete({ name });
    await isThere(configMaps, "red");
  });

  it("a webhook whose server is unreachable", async () => {
    const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"] };
    await down
      .resource(webhooks)
      .create({
        metadata: { name: "broken" },
        webhooks: [
          {
            name: "broken.example.com",
            clientConfig: { url: "https://127.0.0.1:1/" },
            rules: [{ ...rule, resources: ["configmaps"] }],
            objectSelector: { matchLabels: { hook: "broken" } },
            failurePolicy: "Fail",
            sideEffects: "None",
            admissionReviewVersions: ["v1"],
          },
        ],
      } as never);
    await untilRefused({ hook: "broken" });
    await create(configMaps, "hooked", {}, { hook: "broken" });
    const words = /broken\.example\.com.*ask who runs the cluster to mend or remove it/;
    await isTold(configMaps, "hooked", "AdmissionRefused", words);
    // The kind is not at rest because of it.
    await create(configMaps, "beside", {});
    await isThere(configMaps, "beside");
    await down.resource(webhooks).delete({ name: "broken" });
    await isThere(configMaps, "hooked");
  });

  it("a field that must not change is refused before the cluster sees it", async () => {
    const { metadata, spec } = deployment("web");
    await up.resource(deployments).create({ metadata, spec } as never);
    const part = `web--${target}`;
    const at = { namespace, name: "web" };
    await isThere(deployments as never, part);
    const labels = { app: "another" };
    const patch = {
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels } } },
    };
    await assert.rejects(
      up.resource(deployments).patch(at, { type: "merge", patch: patch as never }),
      /spec\.selector.*field is immutable/,
    );
  });

  it("an object that is too large", async () => {
    // More than etcd takes, and less than either server.
    await create(gadgets, "large", { spec: { load: "x".repeat(2_000_000) } });
    await isTold(gadgets, "large", "TooLarge", /too large.*make it smaller, or split it/);
    const patch = { spec: { load: "small" } };
    await up.resource(gadgets).patch({ namespace, name: "large" }, { type: "merge", patch });
    await isThere(gadgets, "large");
  });

  it("a kind that vanishes, and comes back", async () => {
    await down.resource(definitions).delete({ name: "gadgets.example.com" });
    await eventually(async () => {
      const { status } = await up.resource(syncTargets).get({ name: target });
      assert.ok(!status?.syncedResources?.includes("gadgets.example.com"));
      const imported = findCondition(status?.conditions, "APIImporterReady");
      assert.match(`${imported?.reason} ${imported?.message}`, /gadgets\.example\.com/);
    });
    // What was written of it is still there, and goes down when it can.
    assert.ok((await up.resource(gadgets).find({ namespace, name: "large" })) !== undefined);
    await down.resource(definitions).create(gadgetDefinition);
    await isThere(gadgets, "large");
  });
});
