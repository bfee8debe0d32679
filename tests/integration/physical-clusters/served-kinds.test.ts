/** Kinds that applications bring along, of clusters whose SyncTargets do not list resources. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { syncTargets } from "@kcp-ts/multicluster";
import { type Client, defineResource, discover, type KubernetesObject } from "@kcp-ts/sdk";
import {
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilSynced,
} from "./fixture.ts";

interface AnyKind extends KubernetesObject {
  readonly spec?: JsonObject;
  readonly value?: number;
}

const of = (group: string, version: string, resource: string, kind: string, namespaced = true) =>
  defineResource<AnyKind>({ group, version, resource, kind, namespaced });
const networkPolicies = of("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy");
const limitRanges = of("", "v1", "limitranges", "LimitRange");
const priorities = of("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false);
const autoscaler = (version: string) =>
  of("autoscaling", version, "horizontalpodautoscalers", "HorizontalPodAutoscaler");
const namespace = "default";

describe("a cluster without a list of resources", () => {
  it("brings the kinds of applications, of which nothing is synced, and every version of a kind, which is synced once", async (t) => {
    const { client } = await startControlPlaneWithClusters(t);
    const cluster = await startPhysicalCluster(t, { name: "us-east1" });
    await register(client, "us-east1", { kubeconfig: cluster.kubeconfig });
    await untilSynced(client, "us-east1", ["deployments.apps"]);
    await eventually(async () => {
      const served = await namesOf(client);
      for (const name of ["networkpolicies", "limitranges", "priorityclasses", "ingressclasses"])
        assert.ok(served.has(name), `${name} is not served`);
    });

    const policy = await client
      .resource(networkPolicies)
      .create({
        metadata: { namespace, name: "deny" },
        spec: { podSelector: {}, policyTypes: ["Ingress"] },
      });
    await client
      .resource(limitRanges)
      .create({
        metadata: { namespace, name: "limits" },
        spec: { limits: [{ type: "Container", default: { cpu: 0.5 } }] },
      });
    await client.resource(priorities).create({ metadata: { name: "high" }, value: 1000 });
    assert.equal(policy.metadata.generation, 1);
    const { status } = await client.resource(syncTargets).get({ name: "us-east1" });
    const synced = status?.syncedResources ?? [];
    assert.ok(!synced.some((name) => name.startsWith("networkpolicies")));

    const template = {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: "nginx:1.27" }] },
    };
    await client
      .resource(deployments)
      .create({
        metadata: { namespace, name: "web" },
        spec: { replicas: 1, selector: { matchLabels: { app: "web" } }, template },
      });
    const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
    await client
      .resource(autoscaler("v1"))
      .create({
        metadata: { namespace, name: "web" },
        spec: {
          scaleTargetRef,
          minReplicas: 2,
          maxReplicas: 4,
          targetCPUUtilizationPercentage: 70,
        },
      });
    const newer = await client.resource(autoscaler("v2")).get({ namespace, name: "web" });
    assert.deepEqual(newer.spec?.["metrics"], [
      {
        type: "Resource",
        resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } },
      },
    ]);
    await eventually(async () => {
      const { items } = await cluster.client.resource(autoscaler("v2")).list({});
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        ["web--us-east1"],
      );
    });
    const { items } = await cluster.client.resource(networkPolicies).list({});
    assert.deepEqual(items, []);
  });
});

async function namesOf(client: Client): Promise<ReadonlySet<string>> {
  const { groups } = await discover(client, {});
  const versions = groups.flatMap((group) => group.versions);
  return new Set(versions.flatMap(({ resources }) => resources.map(({ resource }) => resource)));
}
