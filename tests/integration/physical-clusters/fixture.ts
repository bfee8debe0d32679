/**
 * For the tests of this folder: a control plane that asks its clusters often, and simulated
 * clusters behind sockets.
 */
import type { TestContext } from "node:test";
import type { PhysicalClusterOptions } from "@kcp-ts/controlplane";
import {
  type APIResourceImport,
  apiResourceImports,
  type NegotiatedAPIResource,
  negotiatedApiResources,
  type SyncTarget,
  type SyncTargetSpec,
  syncTargets,
} from "@kcp-ts/multicluster";
import { type Client, defineResource, findCondition, type KubernetesObject } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import {
  type ListeningClusterOptions,
  type SimulatedCluster,
  startListeningCluster,
} from "@kcp-ts/simulator";
import { startTestControlPlane, type TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually as eventuallyWithin, freePorts } from "@kcp-ts/testkit";

export interface Deployment extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template?: { readonly metadata: object; readonly spec: object };
  };
}

export const deployments = defineResource<Deployment>(kinds.deployments);

export function deployment(
  name: string,
  podSpec: object = {},
): Omit<Deployment, "apiVersion" | "kind"> {
  const labels = { app: name };
  return {
    metadata: { name, namespace: "default", labels },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "web", image: "nginx:1.27" }], ...podSpec },
      },
    },
  };
}

/** A machine may be slow: how long something takes decides no test. */
export function eventually<Value>(check: () => Value | Promise<Value>): Promise<Value> {
  return eventuallyWithin(check, { timeoutMs: 180_000, intervalMs: 20 });
}

/**
 * Often enough for a test; the figures of `kcp start` are in `linkDefaults`. Answers may take as
 * long as the machine wants: a cluster that is cut off refuses at once.
 */
export const fastProbes: PhysicalClusterOptions = {
  link: { probeMs: 200, probeTimeoutMs: 60_000, failuresMax: 2, inventoryMs: 400 },
  importPollMs: 300,
};

export async function startControlPlaneWithClusters(
  t: TestContext,
  options: PhysicalClusterOptions = {},
): Promise<TestControlPlane> {
  const plane = await startTestControlPlane({ physicalClusters: { ...fastProbes, ...options } });
  t.after(() => plane.close());
  return plane;
}

export async function startPhysicalCluster(
  t: TestContext,
  options: ListeningClusterOptions,
): Promise<SimulatedCluster & { readonly kubeconfig: string }> {
  // One that is cut off comes back in the same place.
  const [port = 0] = await freePorts(1);
  const cluster = await startListeningCluster({ nodes: 1, port, ...options });
  t.after(() => cluster.close());
  return cluster as SimulatedCluster & { readonly kubeconfig: string };
}

export async function register(
  client: Client,
  name: string,
  spec: SyncTargetSpec,
): Promise<SyncTarget> {
  return await client.resource(syncTargets).create({ metadata: { name }, spec });
}

/** The SyncTarget when a condition has this status, and this reason if one is given. */
export async function untilCondition(
  client: Client,
  name: string,
  wanted: { readonly type?: string; readonly status: string; readonly reason?: string },
): Promise<SyncTarget> {
  const { type = "Ready", status, reason } = wanted;
  return await eventually(async () => {
    const target = await client.resource(syncTargets).get({ name });
    const found = findCondition(target.status?.conditions, type);
    const isIt = found?.status === status && (reason === undefined || found.reason === reason);
    if (!isIt) throw new Error(`${name} is ${JSON.stringify(target.status?.conditions)}`);
    return target;
  });
}

/**
 * Ready comes with the first kind that is synced: who is asked before a cluster takes its kind goes
 * elsewhere.
 */
export async function untilSynced(
  client: Client,
  name: string,
  resources: readonly string[],
): Promise<void> {
  await eventually(async () => {
    const { status } = await client.resource(syncTargets).get({ name });
    const missing = resources.filter((one) => !status?.syncedResources?.includes(one));
    if (missing.length > 0) throw new Error(`${name} does not sync ${missing.join(", ")} yet`);
  });
}

export async function untilImport(
  client: Client,
  name: string,
  wanted: { readonly compatible: string; readonly available: string },
): Promise<APIResourceImport> {
  return await eventually(async () => {
    const found = await client.resource(apiResourceImports).get({ name });
    const statusOf = (type: string) => findCondition(found.status?.conditions, type)?.status;
    const is = { compatible: statusOf("Compatible"), available: statusOf("Available") };
    if (is.compatible !== wanted.compatible || is.available !== wanted.available)
      throw new Error(`${name} is ${JSON.stringify(found.status)}`);
    return found;
  });
}

export async function untilNegotiated(
  client: Client,
  name: string,
  wanted: (found: NegotiatedAPIResource, status: (type: string) => string | undefined) => boolean,
): Promise<NegotiatedAPIResource> {
  return await eventually(async () => {
    const found = await client.resource(negotiatedApiResources).get({ name });
    const statusOf = (type: string) => findCondition(found.status?.conditions, type)?.status;
    if (!wanted(found, statusOf)) throw new Error(`${name} is ${JSON.stringify(found.status)}`);
    return found;
  });
}
