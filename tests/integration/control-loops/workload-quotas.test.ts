/** Quotas and LimitRanges of Pods, Services and PersistentVolumeClaims, where these are native. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type DynamicObject, defineResource } from "@kcp-ts/sdk";
import { resourceQuotas as quotas } from "@kcp-ts/sdk/kinds";
import { ControllersFixture, eventually, kinds } from "./controllers-fixture.ts";

const namespace = "n";

const native = (resource: string, kind: string) =>
  defineResource<DynamicObject>({ group: "", version: "v1", resource, kind, namespaced: true });
const pods = native("pods", "Pod");
const services = native("services", "Service");
const claims = native("persistentvolumeclaims", "PersistentVolumeClaim");
const limitRanges = native("limitranges", "LimitRange");
const all = [pods, services, claims, limitRanges];

let fixture: ControllersFixture;
beforeEach(async () => {
  fixture = await ControllersFixture.start();
  fixture.startControllers();
});
afterEach(() => fixture.close());

const client = (cluster: string) => fixture.client.inCluster(cluster);

/** A cluster whose workload kinds are native, as negotiation publishes them. */
async function workloadCluster(cluster = "a"): Promise<void> {
  await fixture.in(cluster).namespace(namespace);
  for (const { resource, kind } of all) {
    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    await client(cluster)
      .resource(kinds.definitions)
      .create({
        metadata: {
          name: `${resource}.core`,
          annotations: {
            "api-approved.kubernetes.io": "unapproved, for a test",
            "workload.kcp.io/native-kind": "true",
          },
        },
        spec: {
          group: "",
          scope: "Namespaced",
          names: { plural: resource, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
          versions: [
            { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } },
          ],
        },
      });
  }
  for (const resource of all)
    await eventually(() =>
      client(cluster)
        .resource(resource)
        .list({ namespace })
        .then(
          () => true,
          () => false,
        ),
    );
}

async function quota(hard: Record<string, string>, more: JsonObject = {}, name = "q") {
  await client("a")
    .resource(quotas)
    .create({ metadata: { name, namespace }, spec: { hard, ...more } } as never);
  await eventually(async () => Object.keys((await statusOf(name)).hard ?? {}).length > 0);
}

async function statusOf(name = "q") {
  const found = await client("a").resource(quotas).get({ namespace, name });
  return (found["status"] ?? {}) as {
    hard?: Record<string, string>;
    used?: Record<string, string>;
  };
}

const becomes = (name: string, amount: string, quotaName = "q") =>
  eventually(async () => (await statusOf(quotaName)).used?.[name] === amount);

const container = (resources: JsonObject = {}, name = "main") => ({
  name,
  image: "nginx",
  resources,
});

const pod = (name: string, resources: JsonObject = {}, spec: JsonObject = {}, labels = {}) =>
  client("a")
    .resource(pods)
    .create({
      metadata: { name, namespace, labels },
      spec: { containers: [container(resources)], ...spec },
    } as never);

describe("a quota of what Pods request", () => {
  beforeEach(() => workloadCluster());

  it("charges each Pod before it is stored, and refuses what does not fit in Kubernetes' words", async () => {
    await quota({
      pods: "2",
      "requests.cpu": "1",
      "limits.memory": "1Gi",
      "requests.x.io/gpu": "1",
    });
    const resources = { requests: { cpu: "600m" }, limits: { memory: "512Mi", "x.io/gpu": "1" } };
    await pod("one", resources);
    assert.deepEqual((await statusOf()).used, {
      pods: "1",
      "requests.cpu": "600m",
      "limits.memory": "512Mi",
      "requests.x.io/gpu": "1",
    });
    await assert.rejects(pod("two", resources), {
      message:
        'pods "two" is forbidden: exceeded quota: q, requested: requests.cpu=600m,requests.x.io/gpu=1, used: requests.cpu=600m,requests.x.io/gpu=1, limited: requests.cpu=1,requests.x.io/gpu=1',
    });
    await assert.rejects(pod("two"), {
      message:
        'pods "two" is forbidden: failed quota: q: must specify limits.memory for: main; requests.cpu for: main',
    });
    await client("a").resource(pods).delete({ namespace, name: "one" });
    await becomes("requests.cpu", "0");
    await pod("two", resources);
  });

  it("counts init containers and sidecars as a scheduler does, and overhead", async () => {
    await quota({ "requests.memory": "1Ti" });
    const of = (memory: string, name: string, more: object = {}) => ({
      ...container({ requests: { memory } }, name),
      ...more,
    });
    await pod(
      "one",
      {},
      {
        containers: [of("100Mi", "a"), of("100Mi", "b")],
        initContainers: [of("50Mi", "side", { restartPolicy: "Always" }), of("300Mi", "init")],
      },
    );
    assert.equal((await statusOf()).used?.["requests.memory"], "350Mi");
  });

  it("does not count a Pod that has ended, which remains an object", async () => {
    await quota({ pods: "5", "count/pods": "5", "requests.cpu": "2" });
    const created = await pod("one", { requests: { cpu: "1" } });
    await client("a")
      .resource(pods)
      .updateStatus({ ...created, status: { phase: "Succeeded" } } as never);
    await becomes("requests.cpu", "0");
    assert.deepEqual((await statusOf()).used, {
      pods: "0",
      "count/pods": "1",
      "requests.cpu": "0",
    });
  });

  it("measures the Pods of its scopes only", async () => {
    const inScope = (scope: string) => ({ scopes: [scope] });
    await quota({ pods: "9" }, inScope("BestEffort"), "best-effort");
    await quota({ pods: "9" }, inScope("NotBestEffort"), "not-best-effort");
    await quota({ pods: "9" }, inScope("Terminating"), "terminating");
    await quota({ pods: "9" }, inScope("NotTerminating"), "not-terminating");
    await quota({ pods: "9" }, inScope("CrossNamespacePodAffinity"), "affinity");
    const selector = { scopeName: "PriorityClass", operator: "In", values: ["high"] };
    await quota({ pods: "0" }, { scopeSelector: { matchExpressions: [selector] } }, "high");
    await pod("plain");
    await pod("job", { requests: { cpu: "1" } }, { activeDeadlineSeconds: 60 });
    const podAffinityTerm = { topologyKey: "zone", labelSelector: {}, namespaces: ["other"] };
    const preferred = [{ weight: 1, podAffinityTerm }];
    await pod(
      "near",
      {},
      { affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred } } },
    );
    await assert.rejects(
      pod("high", {}, { priorityClassName: "high" }),
      /forbidden: exceeded quota: high, requested: pods=1, used: pods=0, limited: pods=0/,
    );
    const counts: Record<string, string> = {
      "best-effort": "2",
      "not-best-effort": "1",
      terminating: "1",
      "not-terminating": "2",
      affinity: "1",
    };
    for (const [name, count] of Object.entries(counts)) await becomes("pods", count, name);
    await pod("again", { requests: { cpu: "1" } });
    await client("a").resource(pods).delete({ namespace, name: "again" });
    for (const [name, count] of Object.entries(counts)) await becomes("pods", count, name);
  });

  it("counts the copy of a Pod that a cluster runs, and never refuses it", async () => {
    await quota({ pods: "0" });
    await assert.rejects(pod("own"), /exceeded quota/);
    await pod("copy", {}, {}, { "state.workload.kcp.io/east": "Upsync" });
    await becomes("pods", "1");
  });

  it("means nothing in another logical cluster", async () => {
    await workloadCluster("b");
    await quota({ pods: "0" });
    const metadata = { name: "one", namespace };
    await client("b")
      .resource(pods)
      .create({ metadata, spec: { containers: [container()] } } as never);
    assert.deepEqual((await statusOf()).used, { pods: "0" });
  });
});

describe("a quota of Services", () => {
  it("counts load balancers and ports of nodes, and what an update adds and takes", async () => {
    await workloadCluster();
    await quota({ services: "9", "services.nodeports": "2", "services.loadbalancers": "1" });
    const service = (name: string, type: string, ports: readonly number[]) =>
      client("a")
        .resource(services)
        .create({
          metadata: { name, namespace },
          spec: { type, ports: ports.map((port) => ({ port, name: `p${port}` })) },
        } as never);
    await service("plain", "ClusterIP", [80]);
    await service("balanced", "LoadBalancer", [80]);
    await assert.rejects(
      service("another", "LoadBalancer", [80]),
      /exceeded quota: q, requested: services\.loadbalancers=1, used: services\.loadbalancers=1, limited: services\.loadbalancers=1/,
    );
    const become = (name: string, type: string) =>
      client("a")
        .resource(services)
        .patch({ namespace, name }, { type: "merge", patch: { spec: { type } } });
    await become("plain", "NodePort");
    assert.equal((await statusOf()).used?.["services.nodeports"], "2");
    await service("third", "ClusterIP", [80]);
    await assert.rejects(become("third", "NodePort"), /requested: services\.nodeports=1/);
    await become("plain", "ClusterIP");
    await becomes("services.nodeports", "1");
    await become("third", "NodePort");
    assert.deepEqual((await statusOf()).used, {
      services: "3",
      "services.nodeports": "2",
      "services.loadbalancers": "1",
    });
  });
});

describe("a quota of PersistentVolumeClaims", () => {
  it("sums what they request, of each storage class, and what they grow by", async () => {
    await workloadCluster();
    const gold = "gold.storageclass.storage.k8s.io";
    await quota({
      persistentvolumeclaims: "5",
      "requests.storage": "10Gi",
      [`${gold}/requests.storage`]: "4Gi",
      [`${gold}/persistentvolumeclaims`]: "2",
    });
    const claim = (name: string, storage: string, storageClassName: string) =>
      client("a")
        .resource(claims)
        .create({
          metadata: { name, namespace },
          spec: {
            accessModes: ["ReadWriteOnce"],
            storageClassName,
            resources: { requests: { storage } },
          },
        } as never);
    await claim("one", "3Gi", "gold");
    await claim("two", "6Gi", "iron");
    assert.deepEqual((await statusOf()).used, {
      persistentvolumeclaims: "2",
      "requests.storage": "9Gi",
      [`${gold}/requests.storage`]: "3Gi",
      [`${gold}/persistentvolumeclaims`]: "1",
    });
    await assert.rejects(
      claim("three", "2Gi", "gold"),
      /requested: gold\.storageclass\.storage\.k8s\.io\/requests\.storage=2Gi,requests\.storage=2Gi, used: gold.*=3Gi,requests\.storage=9Gi/,
    );
  });
});

describe("a LimitRange", () => {
  beforeEach(async () => {
    await workloadCluster();
    await client("a")
      .resource(limitRanges)
      .create({
        metadata: { name: "bounds", namespace },
        spec: {
          limits: [
            {
              type: "Container",
              default: { cpu: "500m", memory: "256Mi" },
              defaultRequest: { cpu: "250m" },
              min: { memory: "64Mi" },
              max: { cpu: "1" },
              maxLimitRequestRatio: { cpu: "3" },
            },
            { type: "Pod", max: { memory: "512Mi" } },
            { type: "PersistentVolumeClaim", min: { storage: "1Gi" }, max: { storage: "2Gi" } },
          ],
        },
      } as never);
  });

  it("gives containers what they lack, and says so on the Pod", async () => {
    const created = await pod("one", { requests: { cpu: "300m" } });
    const [main] = (created["spec"] as { containers: JsonObject[] }).containers;
    assert.deepEqual(main?.["resources"], {
      requests: { cpu: "300m", memory: "256Mi" },
      limits: { cpu: "500m", memory: "256Mi" },
    });
    assert.equal(
      created.metadata.annotations?.["kubernetes.io/limit-ranger"],
      "LimitRanger plugin set: memory request for container main; cpu, memory limit for container main",
    );
  });

  const refusals: readonly [resources: JsonObject, reason: string][] = [
    [
      { requests: { memory: "1Mi" } },
      "minimum memory usage per Container is 64Mi, but request is 1Mi",
    ],
    [
      { limits: { cpu: "2" }, requests: { cpu: "1500m" } },
      "maximum cpu usage per Container is 1, but limit is 2",
    ],
    [
      { requests: { cpu: "100m" }, limits: { cpu: "1" } },
      "cpu max limit to request ratio per Container is 3, but provided ratio is 10.000000",
    ],
    [{ limits: { memory: "1Gi" } }, "maximum memory usage per Pod is 512Mi, but limit is 1Gi"],
  ];
  for (const [resources, reason] of refusals) {
    it(`refuses a Pod: ${reason}`, async () => {
      await assert.rejects(pod("bad", resources), {
        message: `pods "bad" is forbidden: ${reason}`,
      });
    });
  }

  it("tells several reasons at once", async () => {
    const resources = { requests: { memory: "1Mi", cpu: "1m" }, limits: { cpu: "2" } };
    await assert.rejects(pod("bad", resources), {
      message:
        'pods "bad" is forbidden: [minimum memory usage per Container is 64Mi, but request is 1Mi, maximum cpu usage per Container is 1, but limit is 2, cpu max limit to request ratio per Container is 3, but provided ratio is 2000.000000]',
    });
  });

  it("bounds what claims request", async () => {
    const claim = (storage: string) =>
      client("a")
        .resource(claims)
        .create({
          metadata: { name: "data", namespace },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } } },
        } as never);
    await assert.rejects(
      claim("3Gi"),
      /maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi/,
    );
    await assert.rejects(
      claim("1Mi"),
      /minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi/,
    );
    await claim("2Gi");
  });

  it("leaves the copy of a Pod that a cluster runs as it runs there", async () => {
    const copy = await pod("copy", {}, {}, { "state.workload.kcp.io/east": "Upsync" });
    const [main] = (copy["spec"] as { containers: JsonObject[] }).containers;
    assert.deepEqual(main?.["resources"], {});
  });

  it("bounds nothing in another namespace, or in another logical cluster", async () => {
    await workloadCluster("b");
    await fixture.in("a").namespace("other");
    for (const [cluster, place] of [
      ["a", "other"],
      ["b", namespace],
    ] as const) {
      const created = await client(cluster)
        .resource(pods)
        .create({
          metadata: { name: "one", namespace: place },
          spec: { containers: [container()] },
        } as never);
      assert.deepEqual(
        (created["spec"] as { containers: JsonObject[] }).containers[0]?.["resources"],
        {},
      );
    }
  });
});
