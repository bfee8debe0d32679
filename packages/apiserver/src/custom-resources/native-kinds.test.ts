/**
 * A definition that stands for a native kind is served by the server's own implementation: with
 * Kubernetes' defaults, rules and manners.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AnyObject, install, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const approved = { "api-approved.kubernetes.io": "unapproved, for a test" };

function standIn(
  group: string,
  kind: string,
  plural: string,
  { schema = anything, isNative = true }: { schema?: object; isNative?: boolean } = {},
): AnyObject {
  const names = { plural, singular: kind.toLowerCase(), kind, shortNames: [] };
  const definition = cronTabs({ group, names, schema });
  const annotations = {
    ...approved,
    ...(isNative ? { "workload.kcp.io/native-kind": "true" } : {}),
  };
  return { ...definition, metadata: { ...(definition["metadata"] as object), annotations } };
}

const template = {
  metadata: { labels: { app: "web" } },
  spec: {
    containers: [
      { name: "web", image: "nginx", resources: { requests: { cpu: 0.5, memory: "1024Mi" } } },
    ],
  },
};
const deployment = (name: string, spec: object = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: { selector: { matchLabels: { app: "web" } }, template, ...spec },
});

const path = "/clusters/a/apis/apps/v1/namespaces/default/deployments";

describe("a native kind that a definition names", () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
    await install(server, standIn("apps", "Deployment", "deployments"));
  });
  after(() => server.close());

  it("has Kubernetes' defaults and canonical quantities", async () => {
    const { spec } = (await server.requestOk("POST", path, {
      body: deployment("web"),
    })) as unknown as { spec: Record<string, unknown> };
    assert.equal(spec["replicas"], 1);
    assert.equal(spec["progressDeadlineSeconds"], 600);
    assert.deepEqual(spec["strategy"], {
      type: "RollingUpdate",
      rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" },
    });
    const [container] = (spec["template"] as { spec: { containers: Record<string, unknown>[] } })
      .spec.containers;
    assert.equal(container?.["imagePullPolicy"], "Always");
    assert.deepEqual(container?.["resources"], { requests: { cpu: "500m", memory: "1Gi" } });
  });

  it("is validated with Kubernetes' messages", async () => {
    const { status, object } = await server.request("POST", path, {
      body: deployment("bad", { selector: { matchLabels: { app: "other" } } }),
    });
    assert.equal(status, 422);
    assert.equal(
      object.message,
      'Deployment.apps "bad" is invalid: spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    );
  });

  it("takes an update without a resourceVersion, and keeps its selector", async () => {
    await server.requestOk("PUT", `${path}/web`, { body: deployment("web", { replicas: 3 }) });
    const other = { matchLabels: { app: "other" } };
    const { status, object } = await server.request("PUT", `${path}/web`, {
      body: deployment("web", {
        selector: other,
        template: { ...template, metadata: { labels: { app: "other" } } },
      }),
    });
    assert.equal(status, 422);
    assert.match(object.message ?? "", /spec\.selector: Invalid value: .*: field is immutable$/);
  });

  it("has a scale with a selector, which rejects negative replicas", async () => {
    const scale = await server.requestOk("GET", `${path}/web/scale`, {});
    assert.deepEqual(scale["status"], { replicas: 0, selector: "app=web" });
    const { status, object } = await server.request("PATCH", `${path}/web/scale`, {
      body: { spec: { replicas: -1 } },
      headers: { "content-type": "application/merge-patch+json" },
    });
    assert.equal(status, 422);
    assert.equal(
      object.message,
      'Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    );
  });

  it("has merge keys for strategic merge patches", async () => {
    const patched = (await server.requestOk("PATCH", `${path}/web`, {
      body: {
        spec: { template: { spec: { containers: [{ name: "web", image: "nginx:1.27" }] } } },
      },
      headers: { "content-type": "application/strategic-merge-patch+json" },
    })) as unknown as { spec: { template: { spec: { containers: { resources: object }[] } } } };
    const [container] = patched.spec.template.spec.containers;
    assert.deepEqual(container?.resources, { requests: { cpu: "500m", memory: "1Gi" } });
  });

  it("is a custom kind without the annotation", async () => {
    await install(server, standIn("apps", "StatefulSet", "statefulsets", { isNative: false }));
    const made = await server.requestOk(
      "POST",
      "/clusters/a/apis/apps/v1/namespaces/default/statefulsets",
      {
        body: {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          metadata: { name: "one" },
          spec: { anything: 1 },
        },
      },
    );
    assert.deepEqual(made["spec"], { anything: 1 });
  });

  it("lacks the fields that its schema lacks, their defaults included", async () => {
    const schema = {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            type: { type: "string" },
            selector: { type: "object", additionalProperties: { type: "string" } },
            sessionAffinity: { type: "string" },
            ports: { type: "array", items: anything },
          },
        },
        status: anything,
      },
    };
    await install(server, standIn("", "Service", "services", { schema }));
    const services = "/clusters/a/api/v1/namespaces/default/services";
    const body = {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web" },
      spec: { selector: { app: "web" }, ports: [{ port: 80 }], trafficDistribution: "PreferClose" },
    };
    const refused = await server.request("POST", `${services}?fieldValidation=Strict`, { body });
    assert.equal(refused.status, 400);
    assert.match(refused.object.message ?? "", /unknown field "spec\.trafficDistribution"/);
    const made = await server.requestOk("POST", services, { body });
    assert.deepEqual(made["spec"], {
      selector: { app: "web" },
      ports: [{ protocol: "TCP", port: 80, targetPort: 80 }],
      sessionAffinity: "None",
      type: "ClusterIP",
    });
  });
});
