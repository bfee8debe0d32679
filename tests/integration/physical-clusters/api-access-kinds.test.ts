/**
 * Goal: Pods of every kind, and of tenants that use the clusters of another workspace, talk to the
 * logical cluster of their workload, as their ServiceAccount.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { apiAccessLabel, apiAccessResources } from "@kcp-ts/multicluster";
import type { Client, DynamicObject } from "@kcp-ts/sdk";
import { PodClient, type PodSpec } from "@kcp-ts/testing/internal";
import { accessSecrets } from "./api-access-fixture.ts";
import { deployment, deployments, eventually, register, startPhysicalCluster } from "./fixture.ts";
import {
  bind,
  exportCompute,
  namespacesByOwner,
  startControlPlaneForTenants,
  untilComputeExported,
  untilReady,
} from "./tenants.ts";
import {
  type Kind,
  podSpec,
  startWorkloadFixture,
  template,
  workload,
} from "./workload-fixture.ts";

const namespace = "default";
const never = { restartPolicy: "Never", ...podSpec };
const job = { completions: 1, template: { spec: never } };

/** Each asks by a label; the kind is that of what is in the cluster. */
const made: readonly (readonly [Kind, string, object])[] = [
  ["deployments", "Deployment", workload("a-deployment", { replicas: 1 })],
  ["statefulSets", "StatefulSet", workload("a-set", { replicas: 1, serviceName: "set" })],
  ["daemonSets", "DaemonSet", workload("a-daemon", {})],
  ["jobs", "Job", { metadata: { name: "a-job", namespace }, spec: job }],
  [
    "cronJobs",
    "CronJob",
    {
      metadata: { name: "a-cron", namespace },
      spec: { schedule: "0 0 1 1 *", jobTemplate: { spec: job } },
    },
  ],
  ["pods", "Pod", { metadata: { name: "a-pod", namespace }, spec: podSpec }],
  [
    "clusterDaemonSets",
    "Deployment",
    {
      metadata: { name: "a-cluster-daemon", namespace },
      spec: {
        template: {
          spec: { selector: { matchLabels: { app: "cds" } }, template: template("cds") },
        },
      },
    },
  ],
];

/** Who the program in a Pod of this spec is, to the server that it finds. */
async function whoAmI(t: TestContext, physical: Client, at: string, spec: PodSpec) {
  const metadata = { name: "inside", namespace: at };
  const pod = { apiVersion: "v1", kind: "Pod", metadata, spec };
  const inside = await PodClient.start(t, physical, pod);
  const { client, namespace: own } = await inside.connect(t);
  const answer = (await client.json({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    body: {},
  })) as { status: { userInfo: { username: string; extra: Record<string, string[]> } } };
  const { username, extra } = answer.status.userInfo;
  return { username, cluster: extra["authentication.kcp.io/cluster-name"], namespace: own };
}

function podSpecOf(kind: string, { spec }: DynamicObject): PodSpec {
  if (kind === "Pod") return spec as unknown as PodSpec;
  interface Templated {
    readonly spec: { readonly template: { readonly spec: PodSpec } };
  }
  const inner = kind === "CronJob" ? (spec as { jobTemplate?: unknown })["jobTemplate"] : { spec };
  return (inner as Templated).spec.template.spec;
}

describe("access of Pods, by kind", () => {
  it("is given to whatever makes Pods", async (t) => {
    const stage = await startWorkloadFixture(t, "east");
    await stage.plane.listen();
    const east = stage.cluster("east").client;
    for (const [kind, , object] of made) {
      const { metadata, ...rest } = object as { metadata: object };
      const labels = { app: kind.toLowerCase(), [apiAccessLabel]: "true" };
      await stage.make(kind, { ...rest, metadata: { ...metadata, labels } });
    }
    for (const [, kind, { metadata }] of made as readonly (readonly [
      Kind,
      string,
      { metadata: { name: string } },
    ])[]) {
      const resource = apiAccessResources.find((one) => one.kind === kind);
      assert.ok(resource !== undefined);
      await eventually(async () => {
        const { items } = await east.resource(resource).list({});
        const copy = items.find(({ metadata: { name } }) => name.startsWith(metadata.name));
        assert.ok(copy !== undefined, `${metadata.name} is not there yet`);
        const spec = podSpecOf(kind, copy as unknown as DynamicObject);
        const { namespace: at = "" } = copy.metadata;
        assert.deepEqual(await whoAmI(t, east, at, spec), {
          username: "system:serviceaccount:default:default",
          cluster: ["root"],
          namespace,
        });
      });
    }
    assert.equal((await accessSecrets(east)).length, made.length);
    // With what they are for, they go.
    for (const [kind, , object] of made) {
      const { name } = (object as { metadata: { name: string } }).metadata;
      await stage.at(kind).delete({ namespace, name });
    }
    await eventually(async () => {
      assert.deepEqual(await accessSecrets(east), []);
      assert.deepEqual(await accessSecrets(stage.client), []);
    });
  });
});

describe("access of Pods, of a tenant", () => {
  it("leads to the tenant's logical cluster, in a cluster of another workspace", async (t) => {
    const plane = await startControlPlaneForTenants(t);
    await plane.listen();
    const east = await startPhysicalCluster(t, { name: "east" });
    const compute = plane.clientFor("compute");
    const resources = ["deployments.apps", "secrets", "serviceaccounts"];
    await register(compute, "east", { kubeconfig: east.kubeconfig, resources });
    await exportCompute(compute);
    await untilComputeExported(compute, "deployments.apps");
    await untilReady(compute, "east");
    for (const name of ["one", "two"]) {
      const client = plane.clientFor(name);
      await bind(client, "compute", ["secrets", "serviceaccounts"]);
      const { metadata, ...rest } = deployment("web");
      const labels = { ...metadata.labels, [apiAccessLabel]: "true" };
      await client.resource(deployments).create({ ...rest, metadata: { ...metadata, labels } });
    }
    for (const name of ["one", "two"]) {
      await eventually(async () => {
        const [at = ""] = (await namespacesByOwner(east.client)).get(name) ?? [];
        const { items } = await east.client.resource(deployments).list({ namespace: at });
        const [copy] = items;
        assert.ok(copy !== undefined && at !== "", `nothing of ${name} yet`);
        const spec = podSpecOf("Deployment", copy as unknown as DynamicObject);
        assert.deepEqual(await whoAmI(t, east.client, at, spec), {
          username: "system:serviceaccount:default:default",
          cluster: [name],
          namespace,
        });
      });
    }
  });
});
