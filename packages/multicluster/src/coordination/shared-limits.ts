/**
 * The limits of a workspace on several clusters together, as a replica limit for each of these
 * clusters. A shared limit is distributed over its clusters as replicas are, so that a plan
 * observes it by observing the limit of each cluster.
 *
 * Limits on fewer clusters come first: a limit within another one is then observed, and both are
 * used fully. Of two limits that overlap partially, the result may be less than they permit.
 *
 * A lowered limit stops nothing: existing replicas keep their capacity, running or not, as far as a
 * decision assigned them; so do replicas in flight between clusters. Replicas that exist twice
 * because they move were not assigned twice: the last decision records the assigned number.
 * Replicas without a feasible cluster stay, and reserve no capacity in other clusters.
 */
import {
  type CurrentReplicas,
  hasEffect,
  type InFlightByCluster,
  type ReplicaLimit,
  type SchedulingResult,
  type SharedReplicaLimit,
} from "../scheduling/index.ts";
import type { DecideInput, EvaluatedCluster } from "./decide.ts";
import { copiesWithin, replicasWithin, retainsCopy, withState } from "./limit-shares.ts";
import type { Placement } from "./placement.ts";
import {
  type Assignment,
  assignedReplicasIn,
  lastAssignment,
  recordedInFlight,
} from "./placement-record.ts";
import { isToBeDrained, isUnreachable } from "./stepper/cluster-share.ts";

export interface LimitedClusters {
  readonly clusters: readonly EvaluatedCluster[];
  /** The limit on replicas over all clusters, where a shared limit covers all of them. */
  readonly totalLimit: ReplicaLimit | undefined;
}

type Subject = Pick<DecideInput, "strategy" | "parent" | "record">;

export function withinSharedLimits(
  clusters: readonly EvaluatedCluster[],
  schedulingResult: Pick<SchedulingResult, "quotas" | "maxSkews">,
  subject: Subject,
  placement: Placement | undefined,
): LimitedClusters {
  if (schedulingResult.quotas.length === 0) return { clusters, totalLimit: undefined };
  if (placement?.rollout.paused !== true)
    return limitedBy(clusters, schedulingResult, subject, placement);
  // Replicas of Draining clusters stay while moves are paused, and keep their capacity.
  const isLeaving = ({ share }: EvaluatedCluster) => share.state === "Draining";
  const staying = clusters.map((one) => (isLeaving(one) ? withState(one, "Cordoned") : one));
  const bounded = limitedBy(staying, schedulingResult, subject, placement);
  const found = bounded.clusters.map((one, index) => {
    const before = clusters[index];
    return before !== undefined && isLeaving(before) ? withState(one, "Draining") : one;
  });
  return { ...bounded, clusters: found };
}

function limitedBy(
  clusters: readonly EvaluatedCluster[],
  { quotas, maxSkews }: Pick<SchedulingResult, "quotas" | "maxSkews">,
  subject: Subject,
  placement: Placement | undefined,
): LimitedClusters {
  const { strategy, parent } = subject;
  const last = lastAssignment(subject.record);
  const inFlight = recordedInFlight(subject.record);
  const isCopied = strategy.capabilities.unit === "Everywhere";
  const isOrdinal = strategy.capabilities.unit === "Ordinal";
  const { failover, rollout } = placement ?? {};
  const isStaying =
    isOrdinal || failover?.strategy === "StopBeforeStart" || rollout?.paused === true;
  const wanted = isCopied ? clusters.length : strategy.desiredReplicas(parent);
  let bounded = clusters;
  let total: ReplicaLimit | undefined;
  for (const quota of [...quotas].sort(bySize)) {
    const limit = quota.limitWith(presentIn(quota, clusters, { isCopied, inFlight, last }));
    // A limit that permits all requested replicas restricts nothing.
    if (limit === undefined || limit.replicas >= wanted) continue;
    const isOfAll = clusters.every((one) => isExcluded(one) || quota.clusters.has(one.name));
    if (isOfAll && (total === undefined || limit.replicas < total.replicas)) total = limit;
    bounded = isCopied
      ? copiesWithin(bounded, quota, limit, { last, maxSkews })
      : replicasWithin(bounded, quota, limit, { isOrdinal, isStaying, isOfAll, maxSkews });
  }
  const meant = desiredIn(clusters, { inFlight, last });
  return { clusters: bounded, totalLimit: total && atLeast(total, meant) };
}

/** The assigned replicas that exist in any cluster: without a feasible cluster they stay. */
function desiredIn(
  clusters: readonly EvaluatedCluster[],
  { inFlight, last }: Omit<PreviousPlacement, "isCopied">,
): number {
  const there = thereIn(clusters, inFlight);
  return last === undefined ? there : Math.min(there, assignedReplicasIn(last));
}

function atLeast({ replicas, reason, detail }: ReplicaLimit, least: number): ReplicaLimit {
  return { replicas: Math.max(replicas, least), reason, detail };
}

function bySize(one: SharedReplicaLimit, other: SharedReplicaLimit): number {
  return one.clusters.size - other.clusters.size;
}

/** Whether the cluster must have no replicas. */
function isExcluded({ schedulingResult, share }: EvaluatedCluster): boolean {
  return (
    schedulingResult === undefined || hasEffect(schedulingResult, "Evict") || isToBeDrained(share)
  );
}

/**
 * The replicas in the selected clusters, or in all clusters: existing ones, and those in flight to
 * them.
 */
function thereIn(
  places: readonly EvaluatedCluster[],
  inFlight: InFlightByCluster,
  clusters?: ReadonlySet<string>,
): number {
  let replicas = 0;
  for (const { name, share } of places)
    if (clusters?.has(name) !== false)
      replicas += (share.copy?.replicas ?? 0) + (inFlight.get(name)?.replicas ?? 0);
  return replicas;
}

interface PreviousPlacement {
  readonly isCopied: boolean;
  readonly inFlight: InFlightByCluster;
  readonly last: Assignment | undefined;
}

function presentIn(
  { clusters }: SharedReplicaLimit,
  places: readonly EvaluatedCluster[],
  { isCopied, inFlight, last }: PreviousPlacement,
): CurrentReplicas {
  const replicas = thereIn(places, inFlight, clusters);
  // Before the first record, every existing replica counts as assigned.
  if (last === undefined) return { replicas, available: replicas };
  const { retained = {}, ...goal } = last;
  let decided = assignedReplicasIn(goal, (name) => clusters.has(name));
  // Retained replicas of a cluster that may have them again count as assigned; and a duplicated
  // workload keeps its copy in an Unreachable cluster.
  const stays = ({ name, share }: EvaluatedCluster) =>
    clusters.has(name) && retainsCopy(share) && (isCopied || !isUnreachable(share));
  for (const { name, share } of places.filter(stays))
    decided += Math.min(retained[name] ?? 0, share.copy?.replicas ?? 0);
  return { replicas, available: Math.min(replicas, decided) };
}
