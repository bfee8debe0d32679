/**
 * For the test of applications: what does not work, or not as in one cluster. Each is tried, and
 * says in words for the documentation what came of it; so what begins to work is noticed, and the
 * page cannot say otherwise.
 */
import assert from "node:assert/strict";
import { type Manifest, parseManifests } from "@kcp-ts/controlplane";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client, KubernetesObject } from "@kcp-ts/sdk";
import { pods } from "@kcp-ts/testing/internal";
import type { ApplicationClusters } from "./application-clusters.ts";
import { resourceOf } from "./resource-of.ts";

export interface LimitCheck {
  /** Of the logical cluster. */
  readonly client: Client;
  readonly clusters: ApplicationClusters;
}

interface Limit {
  readonly tried: string;
  /** Asked when everything has come to rest. */
  readonly outcome: (trial: LimitCheck) => Promise<string>;
}

export const limitsNamespace = "limits";

/** Applied before anything of this is looked at. */
export const limitsManifest = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: limits-reader}
rules: []
---
apiVersion: v1
kind: Secret
metadata: {name: unused}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: low}
spec:
  replicas: 2
  selector: {matchLabels: {app: low}}
  template:
    metadata: {labels: {app: low}}
    spec: {containers: [{name: main, image: "nginx:1.27", resources: {requests: {cpu: 10m}}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: low}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: low}, minReplicas: 1, maxReplicas: 4}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: numbered}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: numbered}, maxReplicas: 4}
`;

const [, secret, , low, numbered] = parseManifests(limitsManifest, "limits.yaml") as [
  ...[Manifest, Manifest, Manifest, Manifest, Manifest],
];
const indexed: Manifest = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "index" } };
const slices: Manifest = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: {} };

interface Slice extends KubernetesObject {
  readonly endpoints?: readonly { readonly targetRef?: { readonly name?: string } }[];
}

const limits: readonly Limit[] = [
  {
    tried: "an Indexed Job (`index` of image-pipeline)",
    outcome: async ({ clusters }) => {
      const places = await clusters.find("image-pipeline", indexed);
      return `runs in ${places.length} of ${clusters.clusters.length} clusters`;
    },
  },
  {
    tried: "an autoscaler with `minReplicas: 1` over two clusters",
    outcome: async ({ clusters }) => {
      const bounds = (await clusters.find(limitsNamespace, low)).map(
        ({ object }) => (object as { spec?: { minReplicas?: number } }).spec?.minReplicas ?? 0,
      );
      return `has at least ${bounds.reduce((sum, one) => sum + one, 0)} replicas: ${bounds.join(" and ")}`;
    },
  },
  {
    tried: "an autoscaler of a StatefulSet",
    outcome: async ({ client, clusters }) => {
      assert.deepEqual(await clusters.find(limitsNamespace, numbered), []);
      const at = { namespace: limitsNamespace, name: "numbered" };
      const { status } = (await client.resource(resourceOf(numbered)).get(at)) as {
        status?: { conditions?: readonly { readonly message?: string }[] };
      };
      return `is in no cluster: ${status?.conditions?.[0]?.message}`;
    },
  },
  {
    tried: "`http://frontend` in a Pod, of the Service of that name",
    outcome: async ({ clusters }) => {
      for (const { name, client } of clusters.clusters) {
        const labelSelector = "kubernetes.io/service-name=frontend";
        const { items } = await client.resource(resourceOf<Slice>(slices)).list({ labelSelector });
        const behind = items.flatMap(({ endpoints }) => endpoints ?? []);
        assert.ok(behind.length > 0, name);
        for (const { targetRef } of behind)
          assert.ok(targetRef?.name?.startsWith(`frontend--${name}-`), targetRef?.name);
      }
      return "reaches the Pods of its own cluster; those of all clusters are behind the [ServiceImport](traffic.md)";
    },
  },
  {
    tried: "a ClusterRole",
    outcome: async ({ clusters }) => {
      const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/limits-reader";
      for (const { client } of clusters.clusters) assert.equal(await statusOf(client, path), 404);
      return "stays in the logical cluster, where it counts";
    },
  },
  {
    tried: "a Secret that no workload refers to",
    outcome: async ({ clusters }) => {
      assert.deepEqual(await clusters.find(limitsNamespace, secret), []);
      return "stays in the logical cluster";
    },
  },
  {
    tried: "`kubectl get nodes`, `kubectl top nodes`",
    outcome: async ({ client }) => {
      const asked = ["/api/v1/nodes", "/apis/metrics.k8s.io/v1beta1/nodes"];
      for (const path of asked) assert.equal(await statusOf(client, path), 404, path);
      return "is not found: a logical cluster has no nodes";
    },
  },
  {
    tried: "`kubectl proxy` to a Pod",
    outcome: async ({ client }) => {
      const { items } = await client.resource(pods).list({ namespace: "canary" });
      const path = `/api/v1/namespaces/canary/pods/${items[0]?.metadata.name}/proxy/`;
      assert.equal(await statusOf(client, path), 404, path);
      return "is not found; [`kubectl port-forward`](debugging.md) gets there";
    },
  },
];

/** As rows of a table. */
export async function outcomesOfLimits(trial: LimitCheck): Promise<readonly string[]> {
  const rows: string[] = [];
  for (const { tried, outcome } of limits) rows.push(`| ${tried} | ${await outcome(trial)} |`);
  return rows;
}

async function statusOf(client: Client, path: string): Promise<number> {
  try {
    await client.json({ method: "GET", path });
    return 200;
  } catch (error) {
    if (!isStatusError(error)) throw error;
    return error.code;
  }
}
