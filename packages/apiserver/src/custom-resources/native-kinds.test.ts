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
  {
    schema = anything,
    isNative = true,
    version = "v1",
  }: { schema?: object; isNative?: boolean; version?: string } = {},
): AnyObject {
  const names = { plural, singular: kind.toLowerCase(), kind, shortNames: [] };
  const definition = cronTabs({ group, names, schema, version: { name: version } });
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

  it("is validated for its client whatever its labels, when it is created and when it is changed", async () => {
    const labels = { "state.workload.kcp.io/east": "Upsync" };
    const copy = (name: string, spec: object) => ({
      ...deployment(name, spec),
      metadata: { name, labels },
    });
    const invalid = { selector: { matchLabels: { app: "other" } } };
    const send = (method: "POST" | "PUT", at: string, body: object, user: "a" | "masters") =>
      server.request(method, at, { body, user });
    assert.equal((await send("POST", path, copy("forged", invalid), "a")).status, 422);
    // The server's own control loops keep a copy as its cluster has it.
    assert.equal((await send("POST", path, copy("kept", invalid), "masters")).status, 201);
    assert.equal(
      (await send("PUT", `${path}/kept`, copy("kept", { ...invalid, replicas: 2 }), "a")).status,
      422,
    );
  });

  it("is rejected when it has more values than its rules can look at in one turn", async () => {
    const containers = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ name: `c${i}`, image: "i" }));
    const large = (name: string, count: number) => ({
      body: deployment(name, {
        template: { ...template, spec: { containers: containers(count) } },
      }),
    });
    await server.requestOk("POST", path, large("large", 3000));
    const { status, object } = await server.request("POST", path, large("larger", 6000));
    assert.equal(status, 413);
    assert.match(object.message ?? "", /limit is 30000 values with defaults/);
    assert.equal((await server.request("PUT", `${path}/large`, large("large", 6000))).status, 413);
    await server.requestOk("DELETE", `${path}/large`);
  });

  it("has a limited number of values and of selector requirements", async () => {
    const env = Array.from({ length: 10_000 }, (_, at) => ({ name: `A${at}` }));
    const containers = [{ name: "web", image: "nginx", env }];
    const large = deployment("large", { template: { ...template, spec: { containers } } });
    const { status, object } = await server.request("POST", path, { body: large });
    assert.equal(status, 413);
    assert.equal(object.message, "Request entity too large: limit is 20000 values of a Deployment");
    const requirement = { key: "app", operator: "Exists" };
    const matchExpressions = Array.from({ length: 1001 }, () => requirement);
    const wide = deployment("wide", { selector: { matchExpressions } });
    const refused = await server.request("POST", path, { body: wide });
    assert.equal(refused.status, 422);
    assert.match(
      refused.object.message ?? "",
      /spec.selector: Too many: 1001: must have at most 1000 items/,
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

  it("gives a claim a storage class and a volume once, and keeps them", async () => {
    await install(server, standIn("", "PersistentVolumeClaim", "persistentvolumeclaims"));
    const claims = "/clusters/a/api/v1/namespaces/default/persistentvolumeclaims";
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    await server.requestOk("POST", claims, { body: { metadata: { name: "data" }, spec } });
    const put = (more: object) => {
      const body = { metadata: { name: "data" }, spec: { ...spec, ...more } };
      return server.request("PUT", `${claims}/data`, { body });
    };
    const bound = { storageClassName: "fast", volumeName: "pv-1" };
    assert.equal((await put(bound)).status, 200);
    for (const other of [{ storageClassName: "slow" }, { volumeName: "pv-2" }, bound])
      assert.equal((await put({ ...bound, ...other })).status, other === bound ? 200 : 422);
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

  it("is served in every version that the server converts, and loses nothing in an older one", async () => {
    await install(
      server,
      standIn("autoscaling", "HorizontalPodAutoscaler", "horizontalpodautoscalers", {
        version: "v2",
      }),
    );
    const at = (version: string) =>
      `/clusters/a/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
    const { groups } = (await server.requestOk("GET", "/clusters/a/apis", {})) as unknown as {
      groups: { name: string; versions: { version: string }[] }[];
    };
    const autoscaling = groups.find(({ name }) => name === "autoscaling");
    assert.deepEqual(
      autoscaling?.versions.map(({ version }) => version),
      ["v2", "v1"],
    );
    const spec = {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      minReplicas: 1,
      maxReplicas: 4,
      metrics: [
        {
          type: "Pods",
          pods: { metric: { name: "m" }, target: { type: "AverageValue", averageValue: "5" } },
        },
        {
          type: "Resource",
          resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } },
        },
      ],
      behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
    };
    const made = await server.requestOk("POST", at("v2"), {
      body: {
        apiVersion: "autoscaling/v2",
        kind: "HorizontalPodAutoscaler",
        metadata: { name: "web" },
        spec,
      },
    });
    const older = (await server.requestOk("GET", `${at("v1")}/web`, {})) as unknown as {
      apiVersion: string;
      spec: Record<string, unknown>;
    };
    assert.equal(older.apiVersion, "autoscaling/v1");
    assert.equal(older.spec["targetCPUUtilizationPercentage"], 50);
    older.spec["maxReplicas"] = 6;
    await server.requestOk("PUT", `${at("v1")}/web`, { body: older });
    const now = await server.requestOk("GET", `${at("v2")}/web`, {});
    assert.deepEqual(now["spec"], { ...(made["spec"] as object), maxReplicas: 6 });
    assert.equal(
      (now.metadata as { annotations?: Record<string, string> }).annotations?.[
        "autoscaling.alpha.kubernetes.io/metrics"
      ],
      undefined,
    );
  });
});
