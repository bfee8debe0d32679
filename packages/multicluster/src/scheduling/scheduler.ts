/**
 * The scheduling state that all coordinators share: the policies, the reservations, and the
 * clusters of other workloads. Shared, because all coordinators reserve the same capacity.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Clusters, ObjectKey, StringMap } from "@kcp-ts/sdk";
import {
  globalPlacement,
  locations,
  type Placement,
  placements,
  type WorkloadPlacement,
  workloadPlacements,
} from "../api/index.ts";
import type { ExistingWorkload } from "./affinity.ts";
import { affinityTargetsOf } from "./affinity-targets.ts";
import { observePlacement, type PlacedWorkload, placedWorkloadOf } from "./placed-workload.ts";
import {
  byLogicalCluster,
  informerPolicyLister,
  type Namespace,
  type NamespaceInfo,
  namespaceInformer,
  namespaces,
  Policies,
  policyStores,
} from "./policies.ts";
import type { Policy } from "./policy.ts";
import type { Usage } from "./replica-estimator.ts";
import {
  ReservationCache,
  type ReservationCacheOptions,
  type WorkloadKey,
} from "./reservation-cache.ts";
import type { ResourceAmounts } from "./resource-amounts.ts";
import type { LocationLimits } from "./workspace-locations.ts";

export interface SchedulerOptions extends Pick<ReservationCacheOptions, "clusterKeyOf"> {
  /** Full objects of all logical clusters; the caller runs the watches. */
  readonly clusters: Clusters;
  /** The tenants of compute workspaces; each workspace uses only its own clusters if omitted. */
  readonly consumers?: ComputeConsumers | undefined;
}

export interface ComputeConsumers {
  /** The compute workspaces whose clusters a workspace uses, by names and paths. */
  computeWorkspacesOf(tenant: ClusterName): ReadonlyMap<string, ClusterName>;
  /** The workspaces that use the clusters of a compute workspace. */
  tenantsOf(computeWorkspace: ClusterName): readonly ClusterName[];
}

/** A change that may affect the decisions about some workloads. */
export type SchedulingNotification =
  | { readonly kind: "policy"; readonly cluster: ClusterName | "all"; readonly namespace?: string }
  /** Capacity of a physical cluster was released: workloads that wait for it are requeued. */
  | { readonly kind: "room"; readonly place: string }
  /** Workloads with affinity or anti-affinity in the namespace are requeued. */
  | { readonly kind: "neighbours"; readonly cluster: ClusterName; readonly namespace: string }
  /** The WorkloadPlacement of a workload was deleted: the workload is requeued, if it exists. */
  | ({ readonly kind: "record" } & Omit<SchedulingSubject, "labels">);

export interface SchedulingSubject extends Omit<WorkloadKey, "cluster"> {
  readonly cluster: ClusterName;
  readonly labels: StringMap;
}

export interface SchedulingSnapshot {
  readonly policy: Policy;
  readonly locationLimits: readonly LocationLimits[];
  readonly usage: Usage;
  readonly existingWorkloads: readonly ExistingWorkload[];
}

export function snapshotFrom(
  policies: Policies,
  reservations: ReservationCache,
  subject: SchedulingSubject,
): SchedulingSnapshot {
  const policy = policies.policyFor(subject);
  const usedByOthers = reservations.usedByOthers(subject);
  const usage: Usage = {
    inCluster: ({ name, computeWorkspace }) => usedByOthers(name, computeWorkspace),
    byWorkspace: (targets) => reservations.usedInWorkspace(subject, targets),
  };
  const locationLimits = policies.locationLimitsFor(subject.cluster);
  const existingWorkloads = hasAffinity(policy)
    ? existingWorkloadsOf(policies, reservations, subject, policy)
    : [];
  return { policy, locationLimits, usage, existingWorkloads };
}

/**
 * The other workloads of the namespace, with their precedence: a workload without required
 * anti-affinity precedes one with it, and stays. Otherwise the name decides, which is the same for
 * both.
 */
function existingWorkloadsOf(
  policies: Policies,
  reservations: ReservationCache,
  { cluster, namespace, ...self }: SchedulingSubject,
  policy: Policy,
): readonly ExistingWorkload[] {
  const rank = (one: Pick<SchedulingSubject, "name" | "resource">, { antiAffinity = [] }: Policy) =>
    `${antiAffinity.some(({ required }) => required === true)} ${one.name} ${one.resource}`;
  const own = rank(self, policy);
  const others = reservations.existingWorkloads({ cluster, namespace, ...self }).map((one) => {
    const itsPolicy = policies.policyFor({ cluster, namespace, labels: one.labels });
    return { ...one, policy: itsPolicy, hasPrecedence: rank(one, itsPolicy) < own };
  });
  const affinityTargets = affinityTargetsOf({ ...self, policy }, others);
  return others.map((one) => ({
    ...one,
    get isAffinityTarget() {
      return affinityTargets(one);
    },
  }));
}

/** Whether the policy has affinity or anti-affinity terms. */
function hasAffinity({ affinity = [], antiAffinity = [] }: Partial<Policy> = {}): boolean {
  return affinity.length + antiAffinity.length > 0;
}

export class Scheduler {
  readonly policies: Policies;
  readonly reservations: ReservationCache;
  readonly #clusters: Clusters;
  readonly #consumers: ComputeConsumers | undefined;
  readonly #listeners = new Set<(schedulingNotification: SchedulingNotification) => void>();
  readonly #reservedListeners = new Set<(place: string) => void>();

  constructor({ clusters, consumers, ...options }: SchedulerOptions) {
    this.#clusters = clusters;
    this.#consumers = consumers;
    this.policies = new Policies(informerPolicyLister(policyStores(clusters), consumers));
    this.reservations = new ReservationCache({
      ...options,
      onFreed: (place) => this.#tell({ kind: "room", place }),
      onChanged: (place) => {
        for (const listener of this.#reservedListeners) listener(place);
      },
      onMoved: ({ cluster, namespace }) => {
        const news = { kind: "neighbours", cluster: cluster as ClusterName, namespace } as const;
        if (this.#isSocial(news.cluster)) this.#tell(news);
      },
    });
    this.#watchPolicies();
    this.#watchPlacements();
  }

  /** Resolves when the policies are known; undefined when they are already. */
  ready(cluster: ClusterName): Promise<void> | undefined {
    return this.#clusters.ready(cluster);
  }

  snapshotFor(subject: SchedulingSubject): SchedulingSnapshot {
    return snapshotFrom(this.policies, this.reservations, subject);
  }

  /** Reserves a decision until watches deliver it. */
  reserve(subject: SchedulingSubject, held: ReadonlyMap<string, ResourceAmounts>): void {
    this.reservations.reserve(subject, held, subject.labels);
  }

  subscribe(listener: (schedulingNotification: SchedulingNotification) => void): void {
    this.#listeners.add(listener);
  }

  /** Calls the listener with the key of every physical cluster whose reservations change. */
  subscribeReserved(listener: (place: string) => void): void {
    this.#reservedListeners.add(listener);
  }

  #hasPolicies(cluster: ClusterName): boolean {
    return (
      this.policies.placementsOf(cluster).length > 0 ||
      this.policies.globalPlacement() !== undefined
    );
  }

  /** Whether any policy of the logical cluster has affinity or anti-affinity terms. */
  #isSocial(cluster: ClusterName): boolean {
    const all = [...this.policies.placementsOf(cluster), this.policies.globalPlacement()];
    return all.some((one) => hasAffinity(one?.spec));
  }

  #tell(schedulingNotification: SchedulingNotification): void {
    for (const listener of this.#listeners) listener(schedulingNotification);
  }

  /** The reservations of all workloads, of all kinds. */
  #watchPlacements(): void {
    this.#clusters
      .source<WorkloadPlacement, PlacedWorkload>(workloadPlacements, {
        transform: placedWorkloadOf,
      })
      .addHandler({
        added: (placed, { key }) => observePlacement(this.reservations, key, placed),
        updated: (placed, { key, previous }) =>
          observePlacement(this.reservations, key, placed, previous),
        deleted: (placed, { key }) => {
          observePlacement(this.reservations, key, undefined, placed);
          const { cluster, namespace } = key;
          this.#tell({ kind: "record", cluster, namespace, ...placed.workload });
        },
      });
  }

  #watchPolicies(): void {
    const tell = (key: ObjectKey) => {
      const isGlobal = key.cluster === globalPlacement.cluster && key.name === globalPlacement.name;
      this.#tell({ kind: "policy", cluster: isGlobal ? "all" : key.cluster });
    };
    this.#clusters
      .source<Placement>(placements, { indexers: byLogicalCluster })
      .addHandler({
        added: (_, { key }) => tell(key),
        deleted: (_, { key }) => tell(key),
        updated: (_, { key }) => tell(key),
      });
    // A Location limits the tenants of its compute workspace, and Placements of tenants may select
    // it.
    const toUsers = ({ cluster: computeWorkspace }: ObjectKey) => {
      for (const cluster of [
        computeWorkspace,
        ...(this.#consumers?.tenantsOf(computeWorkspace) ?? []),
      ])
        this.#tell({ kind: "policy", cluster });
    };
    this.#clusters.source(locations, { indexers: byLogicalCluster }).addHandler({
      added: (_, { key }) => toUsers(key),
      deleted: (_, { key }) => toUsers(key),
      updated: (location, { key, previous }) => {
        const isSame =
          location.metadata.generation === previous.metadata.generation &&
          JSON.stringify(location.metadata.labels) === JSON.stringify(previous.metadata.labels);
        if (!isSame) toUsers(key);
      },
    });
    const labelled = (_: unknown, { key: { cluster, name } }: { readonly key: ObjectKey }) => {
      if (this.#hasPolicies(cluster)) this.#tell({ kind: "policy", cluster, namespace: name });
    };
    this.#clusters
      .source<Namespace, NamespaceInfo>(namespaces, namespaceInformer(this.#clusters))
      .addHandler({
        // A namespace that gets its first label or loses its last: namespaces with default labels
        // are not cached.
        added: labelled,
        deleted: labelled,
        updated: (now, { key, previous }) => {
          if (JSON.stringify(now.labels) !== JSON.stringify(previous.labels))
            labelled(now, { key });
        },
      });
  }
}
