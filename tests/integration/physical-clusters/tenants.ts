/** For the tests of this folder: a workspace that offers its clusters, and others that use them. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  apiExports,
  computeExportAnnotation,
  computeExportName,
  type SyncTarget,
  sharedTargetName,
  syncTargets,
} from "@kcp-ts/multicluster";
import { type Client, type DynamicObject, defineResource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { SimulatedCluster } from "@kcp-ts/simulator";
import type { TestControlPlane } from "@kcp-ts/testing/internal";
import {
  deployment,
  deployments,
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
} from "./fixture.ts";

export const apiBindings = defineResource<DynamicObject>(kinds.apiBindings);

export const configMaps = defineResource<DynamicObject>(kinds.configMaps);
export const secrets = defineResource<DynamicObject>(kinds.secrets);
export const namespaces = defineResource<DynamicObject>(kinds.namespaces);

/**
 * Asks its clusters less often than the other tests of this folder do, and waits longer for
 * answers: here are many parts at work, and none of them is ever lost.
 */
export function startControlPlaneForTenants(t: TestContext): Promise<TestControlPlane> {
  const link = { probeMs: 1000, probeTimeoutMs: 60_000, failuresMax: 5, inventoryMs: 5000 };
  return startControlPlaneWithClusters(t, { link, importPollMs: 5000 });
}

/** Says that others may use the clusters of this logical cluster. */
export async function exportCompute(client: Client): Promise<void> {
  const annotations = { [computeExportAnnotation]: "true" };
  await client.resource(apiExports).create({ metadata: { name: computeExportName, annotations } });
}

/** When the offer has all of these, as in `deployments.apps`. */
export async function untilComputeExported(
  client: Client,
  ...names: readonly string[]
): Promise<void> {
  await eventually(async () => {
    const { spec, status } = await client.resource(apiExports).get({ name: computeExportName });
    const offered = spec?.resources?.map(({ name, group = "" }) => `${name}.${group}`) ?? [];
    for (const name of names)
      assert.ok(offered.includes(name.includes(".") ? name : `${name}.`), offered.join());
    assert.notEqual(status?.identityHash ?? "", "");
  });
}

const kubelet = { startDelayMs: { min: 10, max: 50 }, stopDelayMs: 20, runMs: 100 };

export interface SharedComputeOptions {
  readonly resources: readonly string[];
  /** Which of them are waited for; all if left out. */
  readonly awaited?: readonly string[];
  /** Takes nothing yet: what is placed goes to the other one. */
  readonly cordoned?: "east" | "west";
}

/** A control plane with a compute workspace that exports two clusters, which serve `resources`. */
export async function startSharedCompute(
  t: TestContext,
  { resources, awaited = resources, cordoned }: SharedComputeOptions,
) {
  const plane = await startControlPlaneWithClusters(t, {
    gracePeriods: { unreachableAfterMs: 60_000, recoveryMs: 0 },
  });
  const compute = plane.clientFor("compute");
  const clusters = new Map<string, SimulatedCluster>();
  for (const name of ["east", "west"]) {
    const cluster = await startPhysicalCluster(t, { name, kubelet });
    clusters.set(name, cluster);
    const unschedulable = name === cordoned;
    await register(compute, name, { kubeconfig: cluster.kubeconfig, resources, unschedulable });
  }
  await exportCompute(compute);
  await untilComputeExported(compute, ...awaited);
  for (const name of clusters.keys()) await untilReady(compute, name);
  return { plane, compute, clusters };
}

/** Binds a logical cluster to what another one offers, and agrees to what it claims. */
export async function bind(
  client: Client,
  path: string,
  claims: readonly string[] = [],
): Promise<void> {
  await client
    .resource(apiBindings)
    .create({
      metadata: { name: computeExportName },
      spec: {
        reference: { export: { path, name: computeExportName } },
        permissionClaims: claims.map((resource) => ({
          group: "",
          resource,
          state: "Accepted",
          verbs: ["get", "list", "watch", "patch"],
          selector: { matchAll: true },
        })),
      },
    });
  await eventually(async () => {
    const binding = await client.resource(apiBindings).get({ name: computeExportName });
    const { phase } = (binding["status"] ?? {}) as { phase?: string };
    assert.equal(phase, "Bound", JSON.stringify(binding["status"]));
  });
}

/** What a SyncTarget of one logical cluster is called in others. */
export function sharedNameOf(home: string, name: string): string {
  return sharedTargetName({ cluster: home, name });
}

export async function untilReady(client: Client, name: string): Promise<SyncTarget> {
  return await eventually(async () => {
    const target = await client.resource(syncTargets).get({ name });
    const ready = target.status?.conditions?.find(({ type }) => type === "Ready");
    assert.equal(ready?.status, "True", JSON.stringify(target.status?.conditions));
    return target;
  });
}

export async function untilReplicas(client: Client, name: string, wanted: number): Promise<void> {
  await eventually(async () => {
    const found = await client.resource(deployments).get({ namespace: "default", name });
    const { status } = found as { status?: { readyReplicas?: number } };
    assert.equal(status?.readyReplicas, wanted, JSON.stringify(found));
  });
}

/** A Deployment, with labels of its own if it has some. */
export function labelled(name: string, labels: Readonly<Record<string, string>> = {}) {
  const { metadata, ...rest } = deployment(name);
  return { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, ...labels } } };
}

/** Namespaces in a physical cluster by the logical cluster that they were made for. */
export async function namespacesByOwner(
  physical: Client,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const owners = new Map<string, string[]>();
  for (const { metadata } of (await physical.resource(namespaces).list()).items) {
    const locator = metadata.annotations?.["kcp.io/namespace-locator"];
    if (locator === undefined) continue;
    const { cluster } = JSON.parse(locator) as { cluster: ClusterName };
    owners.set(cluster, [...(owners.get(cluster) ?? []), metadata.name]);
  }
  return owners;
}
