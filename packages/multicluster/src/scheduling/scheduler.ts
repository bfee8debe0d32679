/**
 * What decisions need to know beyond the workload and its clusters: the policy, what others have reserved, and where they are. One for all coordinators,
 * because they give away the same room.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Clusters,
  formatKey,
  type KubernetesObject,
  type ObjectKey,
  type ObjectSource,
  type StringMap,
  stringMember,
} from "@kcp-ts/sdk";
import {
  assignedCluster,
  globalPlacement,
  locations,
  ownedByLabels,
  type Placement,
  placements,
  unreachableSinceAnnotation,
} from "../api/index.ts";
import type { ExistingWorkload } from "./affinity.ts";
import type { ResourceAmounts } from "./amounts.ts";
import { affinityTargetsOf } from "./leaders.ts";
import {
  type ObservedCopy,
  ReservationCache,
  type ReservationCacheOptions,
  type WorkloadKey,
} from "./ledger.ts";
import type { LocationLimits } from "./located.ts";
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
import { readReservation } from "./reservation.ts";
import type { Usage } from "./room.ts";
import type { InFlightByCluster } from "./under-way.ts";

export interface SchedulerOptions extends Pick<ReservationCacheOptions, "placeOf"> {
  /** Whole objects of all logical clusters; run by the caller. */
  readonly clusters: Clusters;
  /** Who uses whose clusters; everybody their own if left out. */
  readonly users?: ComputeConsumers | undefined;
}

export interface ComputeConsumers {
  /** Workspaces whose clusters this one uses, by names and paths. */
  homesOf(tenant: ClusterName): ReadonlyMap<string, ClusterName>;
  /** Workspaces that use the clusters of this one. */
  tenantsOf(home: ClusterName): readonly ClusterName[];
}

/** Whose decisions may be others now. */
export type SchedulingNotification =
  | { readonly kind: "policy"; readonly cluster: ClusterName | "all"; readonly namespace?: string }
  /** Those who wait for room may have it. */
  | { readonly kind: "room" }
  /** Those who look where others are. */
  | { readonly kind: "neighbours"; readonly cluster: ClusterName; readonly namespace: string };

export interface SchedulingSubject extends Omit<WorkloadKey, "cluster"> {
  readonly cluster: ClusterName;
  readonly labels: StringMap;
}

export interface SchedulingSnapshot {
  readonly policy: Policy;
  readonly allowances: readonly LocationLimits[];
  readonly usage: Usage;
  readonly neighbours: readonly ExistingWorkload[];
}

export function snapshotFrom(
  policies: Policies,
  ledger: ReservationCache,
  subject: SchedulingSubject,
): SchedulingSnapshot {
  const policy = policies.policyFor(subject);
  const usedByOthers = ledger.usedByOthers(subject);
  const usage: Usage = {
    inCluster: ({ name, home }) => usedByOthers(name, home),
    byWorkspace: (targets) => ledger.usedInWorkspace(subject, targets),
  };
  const allowances = policies.allowancesFor(subject.cluster);
  const neighbours = hasAffinity(policy)
    ? existingWorkloadsOf(policies, ledger, subject, policy)
    : [];
  return { policy, allowances, usage, neighbours };
}

/** Who looks nobody in the face goes first: others leave for it, and it for nobody. Then it is the name, which all know alike. */
function existingWorkloadsOf(
  policies: Policies,
  ledger: ReservationCache,
  { cluster, namespace, ...self }: SchedulingSubject,
  policy: Policy,
): readonly ExistingWorkload[] {
  const rank = (one: Pick<SchedulingSubject, "name" | "resource">, { antiAffinity = [] }: Policy) =>
    `${antiAffinity.some(({ required }) => required === true)} ${one.name} ${one.resource}`;
  const own = rank(self, policy);
  const others = ledger.neighbours({ cluster, namespace, ...self }).map((one) => {
    const itsPolicy = policies.policyFor({ cluster, namespace, labels: one.labels });
    return { ...one, policy: itsPolicy, goesFirst: rank(one, itsPolicy) < own };
  });
  const leaders = affinityTargetsOf({ ...self, policy }, others);
  return others.map((one) => ({
    ...one,
    get leads() {
      return leaders(one);
    },
  }));
}

/** Whether it looks where others are. */
function hasAffinity({ affinity = [], antiAffinity = [] }: Partial<Policy> = {}): boolean {
  return affinity.length + antiAffinity.length > 0;
}

/** What a part says for the ledger; undefined for what is none. */
export function observedCopyOf(
  { metadata }: KubernetesObject,
  { cluster, namespace, name }: ObjectKey,
  resource: string,
): ObservedCopy | undefined {
  const { labels = {}, annotations } = metadata;
  const target = assignedCluster(labels);
  const whole = workloadKeyOf(labels);
  if (target === undefined || whole === undefined) return undefined;
  const key = `${resource} ${formatKey({ cluster, namespace, name })}`;
  const amounts = readReservation(annotations);
  const isLost =
    stringMember(annotations, unreachableSinceAnnotation) === undefined ? undefined : true;
  return { key, cluster, namespace, resource, name: whole, target, labels, amounts, isLost };
}

export class Scheduler {
  readonly policies: Policies;
  readonly ledger: ReservationCache;
  readonly #clusters: Clusters;
  readonly #users: ComputeConsumers | undefined;
  readonly #listeners = new Set<(news: SchedulingNotification) => void>();
  readonly #reservedListeners = new Set<(place: string) => void>();

  constructor({ clusters, users, ...options }: SchedulerOptions) {
    this.#clusters = clusters;
    this.#users = users;
    this.policies = new Policies(informerPolicyLister(policyStores(clusters), users));
    this.ledger = new ReservationCache({
      ...options,
      onFreed: () => this.#tell({ kind: "room" }),
      onChanged: (place) => {
        for (const listener of this.#reservedListeners) listener(place);
      },
      onMoved: ({ cluster, namespace }) => {
        const news = { kind: "neighbours", cluster: cluster as ClusterName, namespace } as const;
        if (this.#isSocial(news.cluster)) this.#tell(news);
      },
    });
    this.#watchPolicies();
  }

  /** Resolves when policies are known; undefined when they are. */
  ready(cluster: ClusterName): Promise<void> | undefined {
    return this.#clusters.ready(cluster);
  }

  factsFor(subject: SchedulingSubject): SchedulingSnapshot {
    return snapshotFrom(this.policies, this.ledger, subject);
  }

  /** What was decided, until it can be seen. */
  hold(subject: SchedulingSubject, held: ReadonlyMap<string, ResourceAmounts>): void {
    this.ledger.hold(subject, held, subject.labels);
  }

  /** What a whole says has left one cluster and is not in the next one yet. */
  seeUnderWay(subject: SchedulingSubject, all: InFlightByCluster): void {
    this.ledger.seeUnderWay(subject, all, subject.labels);
  }

  /** Parts of one kind, by their metadata. */
  follow(source: ObjectSource<KubernetesObject>, resource: string): void {
    const see = (part: KubernetesObject, { key }: { readonly key: ObjectKey }) => {
      const seen = observedCopyOf(part, key, resource);
      if (seen === undefined) this.ledger.unsee(`${resource} ${formatKey(key)}`);
      else this.ledger.see(seen);
    };
    source.addHandler({
      added: see,
      updated: see,
      deleted: (_, { key }) => this.ledger.unsee(`${resource} ${formatKey(key)}`),
    });
  }

  subscribe(listener: (news: SchedulingNotification) => void): void {
    this.#listeners.add(listener);
  }

  /** Hears of every physical cluster of which more or less is reserved. */
  subscribeReserved(listener: (place: string) => void): void {
    this.#reservedListeners.add(listener);
  }

  #hasPolicies(cluster: ClusterName): boolean {
    return (
      this.policies.placementsOf(cluster).length > 0 ||
      this.policies.globalPlacement() !== undefined
    );
  }

  /** Whether any policy there looks where others are. */
  #isSocial(cluster: ClusterName): boolean {
    const all = [...this.policies.placementsOf(cluster), this.policies.globalPlacement()];
    return all.some((one) => hasAffinity(one?.spec));
  }

  #tell(news: SchedulingNotification): void {
    for (const listener of this.#listeners) listener(news);
  }

  #watchPolicies(): void {
    const tell = (key: ObjectKey) => {
      const isGlobal = key.cluster === globalPlacement.cluster && key.name === globalPlacement.name;
      this.#tell({ kind: "policy", cluster: isGlobal ? "all" : key.cluster });
    };
    this.#clusters.source<Placement>(placements, { indexers: byLogicalCluster }).addHandler({
      added: (_, { key }) => tell(key),
      deleted: (_, { key }) => tell(key),
      updated: (_, { key }) => tell(key),
    });
    // Who uses its clusters is bound by what it says, and may be placed by it.
    const toUsers = ({ cluster: home }: ObjectKey) => {
      for (const cluster of [home, ...(this.#users?.tenantsOf(home) ?? [])])
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
        // One that has got its first label, or lost its last: ordinary ones are not there.
        added: labelled,
        deleted: labelled,
        updated: (now, { key, previous }) => {
          if (JSON.stringify(now.labels) !== JSON.stringify(previous.labels))
            labelled(now, { key });
        },
      });
  }
}

function workloadKeyOf(labels: StringMap): string | undefined {
  for (const label of ownedByLabels) {
    const value = labels[label];
    if (value !== undefined && value !== "") return value;
  }
  return undefined;
}
