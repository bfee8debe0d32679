/**
 * What is really in a cluster, at every moment: the laws are about this, and not about what the
 * control plane says of it.
 */
import type { KubernetesObject, Resource } from "@kcp-ts/sdk";
import { cronJobs, daemonSets, deployments, jobs, pods, statefulSets } from "@kcp-ts/sdk/kinds";
import type { SimulatedCluster } from "@kcp-ts/simulator";
import type { TenantName, WorkloadKind } from "./scenario.ts";

/** On every workload and in its Pod template: who it belongs to, whatever happens to its name. */
export const tenantLabel = "simulation/tenant";
export const workloadLabel = "simulation/workload";

export interface ObservedPod {
  readonly name: string;
  readonly tenant: TenantName;
  readonly workload: string;
  readonly isReady: boolean;
  readonly isTerminating: boolean;
  readonly hasEnded: boolean;
}

export interface ObservedWorkload {
  readonly tenant: TenantName;
  readonly workload: string;
  readonly kind: WorkloadKind;
  /** The Pods that it asks for. */
  readonly pods: number;
  readonly isTerminating: boolean;
  /** Whether it is a CronJob that is not suspended. */
  readonly isScheduling: boolean;
}

const watchedKinds: readonly [WorkloadKind, Resource<KubernetesObject>][] = [
  ["Deployment", deployments as unknown as Resource<KubernetesObject>],
  ["StatefulSet", statefulSets as unknown as Resource<KubernetesObject>],
  ["DaemonSet", daemonSets as unknown as Resource<KubernetesObject>],
  ["Job", jobs as unknown as Resource<KubernetesObject>],
];

const moreWatchedKinds: typeof watchedKinds = [
  ...watchedKinds,
  ["CronJob", cronJobs as unknown as Resource<KubernetesObject>],
];

interface PodShape extends KubernetesObject {
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

interface WorkloadShape extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly parallelism?: number;
    readonly completions?: number;
    readonly suspend?: boolean;
  };
  readonly status?: { readonly succeeded?: number };
}

export class ClusterObserver {
  readonly pods = new Map<string, ObservedPod>();
  readonly workloads = new Map<string, ObservedWorkload>();
  readonly #cluster: SimulatedCluster;
  readonly #onChange: () => void;

  constructor(cluster: SimulatedCluster, onChange: () => void) {
    this.#cluster = cluster;
    this.#onChange = onChange;
  }

  /** Watches until the system ends. */
  start(hasMoreKinds: boolean): void {
    void this.#follow(pods as unknown as Resource<KubernetesObject>, this.pods, podOf);
    for (const [kind, resource] of hasMoreKinds ? moreWatchedKinds : watchedKinds)
      void this.#follow(resource, this.workloads, (object) => workloadOf(kind, object));
  }

  async #follow<Observed>(
    resource: Resource<KubernetesObject>,
    into: Map<string, Observed>,
    read: (object: KubernetesObject) => Observed | undefined,
  ): Promise<void> {
    let resourceVersion: string | undefined;
    for (;;) {
      const from = {
        allowWatchBookmarks: true,
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      };
      const events = this.#cluster.client.resource(resource).watch(from);
      for await (const { type, object } of events) {
        resourceVersion = object.metadata.resourceVersion;
        if (type === "BOOKMARK") continue;
        const uid = object.metadata.uid ?? "";
        const observed = type === "DELETED" ? undefined : read(object);
        if (observed === undefined) into.delete(uid);
        else into.set(uid, observed);
        this.#onChange();
      }
    }
  }
}

function podOf(object: KubernetesObject): ObservedPod | undefined {
  const owner = ownerOf(object);
  if (owner === undefined) return undefined;
  const { metadata, status } = object as PodShape;
  const isReady = status?.conditions?.some(
    (condition) => condition.type === "Ready" && condition.status === "True",
  );
  return {
    ...owner,
    name: metadata.name,
    isReady: isReady === true,
    isTerminating: metadata.deletionTimestamp !== undefined,
    hasEnded: status?.phase === "Succeeded" || status?.phase === "Failed",
  };
}

function workloadOf(kind: WorkloadKind, object: KubernetesObject): ObservedWorkload | undefined {
  const owner = ownerOf(object);
  if (owner === undefined) return undefined;
  const isTerminating = object.metadata.deletionTimestamp !== undefined;
  const shape = object as WorkloadShape;
  const isScheduling = kind === "CronJob" && shape.spec?.suspend !== true;
  return { ...owner, kind, pods: podsAskedFor(kind, shape), isTerminating, isScheduling };
}

function podsAskedFor(kind: WorkloadKind, { spec, status }: WorkloadShape): number {
  if (kind === "DaemonSet") return 1;
  if (kind === "CronJob") return 0;
  if (kind !== "Job") return spec?.replicas ?? 1;
  const { parallelism = 1, completions = parallelism } = spec ?? {};
  return Math.min(parallelism, completions - (status?.succeeded ?? 0));
}

export function ownerOf({
  metadata: { labels },
}: KubernetesObject): { readonly tenant: TenantName; readonly workload: string } | undefined {
  const tenant = labels?.[tenantLabel] as TenantName | undefined;
  const workload = labels?.[workloadLabel];
  return tenant === undefined || workload === undefined ? undefined : { tenant, workload };
}
