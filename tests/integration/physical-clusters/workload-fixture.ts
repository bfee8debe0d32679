/**
 * For tests of workloads in two simulated clusters: a control plane with all its controllers, and
 * eyes on what runs where.
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { syncTargets } from "@kcp-ts/multicluster";
import {
  type Client,
  defineResource,
  type KubernetesObject,
  type ResourceClient,
} from "@kcp-ts/sdk";
import {
  eventually,
  register,
  startControlPlaneWithClusters,
  startPhysicalCluster,
  untilCondition,
  untilSynced,
} from "./fixture.ts";

export interface AnyWorkload extends KubernetesObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, string>>;
}

const of = (group: string, version: string, resource: string, kind: string) =>
  defineResource<AnyWorkload>({ group, version, resource, kind, namespaced: true });

export const kinds = {
  deployments: of("apps", "v1", "deployments", "Deployment"),
  statefulSets: of("apps", "v1", "statefulsets", "StatefulSet"),
  daemonSets: of("apps", "v1", "daemonsets", "DaemonSet"),
  jobs: of("batch", "v1", "jobs", "Job"),
  cronJobs: of("batch", "v1", "cronjobs", "CronJob"),
  autoscalers: of("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
  clusterDaemonSets: of("workload.kcp.io", "v1alpha1", "clusterdaemonsets", "ClusterDaemonSet"),
  pods: of("", "v1", "pods", "Pod"),
  configMaps: of("", "v1", "configmaps", "ConfigMap"),
  secrets: of("", "v1", "secrets", "Secret"),
  accounts: of("", "v1", "serviceaccounts", "ServiceAccount"),
  services: of("", "v1", "services", "Service"),
} as const;
export type Kind = keyof typeof kinds;

export const namespace = "default";
/** Nothing is started faster than it can be seen, and nothing is waited for longer than needed. */
const kubelet = { startDelayMs: { min: 10, max: 50 }, stopDelayMs: 20, runMs: 100 };
const gracePeriods = { unreachableAfterMs: 5000, recoveryMs: 0 };

const coordinated = [
  "deployments.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "jobs.batch",
  "cronjobs.batch",
  "horizontalpodautoscalers.autoscaling",
  "pods",
];

export type Physical = Awaited<ReturnType<typeof startPhysicalCluster>>;

export interface WorkloadFixture {
  readonly client: Client;
  readonly plane: Awaited<ReturnType<typeof startControlPlaneWithClusters>>;
  readonly clusters: ReadonlyMap<string, Physical>;
  readonly cluster: (name: string) => Physical;
  readonly at: (kind: Kind, client?: Client) => ResourceClient<AnyWorkload>;
  /** Creates it as soon as its kind is served. */
  readonly make: (kind: Kind, object: object, client?: Client) => Promise<AnyWorkload>;
  readonly untilStatus: (
    kind: Kind,
    name: string,
    check: (status: Readonly<Record<string, unknown>>) => void,
  ) => Promise<void>;
  /** The sorted names of all objects of this kind in the cluster. */
  readonly inCluster: (kind: Kind, cluster: string) => Promise<readonly string[]>;
  readonly join: (name: string, labels?: Readonly<Record<string, string>>) => Promise<void>;
}

export function startWorkloadFixture(t: TestContext, ...names: string[]): Promise<WorkloadFixture> {
  return startWorkloadFixtureWith(t, kubelet, ...names);
}

/** For tests that have to see what is not ready yet. */
export const slowKubelet = { ...kubelet, startDelayMs: { min: 250, max: 350 } };

export async function startWorkloadFixtureWith(
  t: TestContext,
  pace: typeof kubelet,
  ...names: string[]
): Promise<WorkloadFixture> {
  const plane = await startControlPlaneWithClusters(t, { gracePeriods });
  const { client } = plane;
  const clusters = new Map<string, Physical>();
  for (const name of names)
    clusters.set(name, await startPhysicalCluster(t, { name, kubelet: pace }));
  const cluster = (name: string) => {
    const found = clusters.get(name);
    assert.ok(found !== undefined, `${name} is no cluster of this stage`);
    return found;
  };
  const at = (kind: Kind, where = client) => where.resource(kinds[kind]);
  const fixture: WorkloadFixture = {
    client,
    plane,
    clusters,
    cluster,
    at,
    make: (kind, object, where) => eventually(() => at(kind, where).create(object as never)),
    untilStatus: (kind, name, check) =>
      eventually(async () => check((await at(kind).get({ namespace, name })).status ?? {})),
    inCluster: async (kind, name) => {
      const { items } = await at(kind, cluster(name).client).list({});
      return items.map(({ metadata }) => metadata.name).sort();
    },
    join: async (name, labels = {}) => {
      const { kubeconfig } = cluster(name);
      await register(client, name, { kubeconfig });
      if (Object.keys(labels).length > 0) await label(client, name, labels);
      await untilCondition(client, name, { status: "True" });
      await untilSynced(client, name, coordinated);
      await untilUsed(fixture, name);
    },
  };
  for (const name of names) await fixture.join(name);
  return fixture;
}

async function label(client: Client, name: string, labels: Readonly<Record<string, string>>) {
  const patch = { type: "merge" as const, patch: { metadata: { labels } } };
  await client.resource(syncTargets).patch({ name }, patch);
}

export const podSpec = { containers: [{ name: "main", image: "app:1" }] };

export function template(name: string, spec: object = podSpec): object {
  return { metadata: { labels: { app: name } }, spec };
}

export function workload(name: string, spec: object): object {
  return {
    metadata: { name, namespace, labels: { app: name } },
    spec: { selector: { matchLabels: { app: name } }, template: template(name), ...spec },
  };
}

/**
 * The coordinators have seen it, too: some kinds stay where they are put first. A Deployment is
 * evened out, so it tells.
 */
async function untilUsed({ make, at }: WorkloadFixture, cluster: string): Promise<void> {
  const key = { namespace, name: `probe-${cluster}` };
  await make("deployments", workload(key.name, { replicas: 4 }));
  await eventually(() => at("deployments").get({ namespace, name: `${key.name}--${cluster}` }));
  await at("deployments").delete(key);
  await eventually(async () => {
    const { items } = await at("deployments").list({ namespace });
    assert.deepEqual(
      items.filter(({ metadata }) => metadata.name.startsWith("probe-")),
      [],
    );
  });
}
