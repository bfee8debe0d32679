/**
 * A shared limit distributed over its clusters, as a limit for each: in replicas, or one copy for
 * each cluster. Pure.
 */
import type { ReplicaLimit, SharedReplicaLimit } from "../scheduling/index.ts";
import type { EvaluatedCluster } from "./decide.ts";
import { type Assignment, assignedReplicasIn } from "./placement-record.ts";
import { eligibleClusters } from "./stepper/assign-replicas.ts";
import { type ClusterShare, isToBeDrained, isUnreachable } from "./stepper/cluster-share.ts";
import { distribute } from "./stepper/distribute.ts";

export interface LimitDistribution {
  /** The last placement record. */
  readonly last: Assignment | undefined;
  readonly isOrdinal: boolean;
  /** The workload does not move for balance: its clusters retain their replicas. */
  readonly isStaying: boolean;
  /** Whether the limit covers every cluster that the workload may use. */
  readonly isOfAll: boolean;
  readonly maxSkews: readonly number[];
}

/** Distributes the limit as replicas are distributed. */
export function replicasWithin(
  places: readonly EvaluatedCluster[],
  { clusters }: SharedReplicaLimit,
  limit: ReplicaLimit,
  { isOrdinal, isStaying, isOfAll, maxSkews }: Omit<LimitDistribution, "last">,
): readonly EvaluatedCluster[] {
  const open = eligibleClusters(places.map(({ share }) => share));
  const shares = places
    .filter(({ name }) => clusters.has(name))
    .map(({ name, share }) => {
      const { weight, capacity, domains, copy, maxReplicas = Number.POSITIVE_INFINITY } = share;
      const current = copy?.replicas ?? 0;
      // No other cluster replaces the ordinals of an Unreachable cluster.
      const isOutThere = isOrdinal && isUnreachable(share) && current > 0;
      const own = isStaying ? Math.max(maxReplicas, current) : maxReplicas;
      return {
        name,
        weight,
        domains,
        capacity: isStaying && current > 0 ? undefined : capacity,
        ready: isOutThere || !isToBeDrained(share),
        isCordoned: !open.has(share),
        // When another limit is short of capacity, replicas that started elsewhere for balance
        // would remain in addition to those here.
        retained:
          isStaying || !isOfAll || (share.state === "Cordoned" && copy?.wasUnreachable !== true),
        maxReplicas: own,
        current,
      };
    });
  const shared = distribute(limit.replicas, shares, maxSkews);
  return places.map((evaluated) => bounded(evaluated, shared.get(evaluated.name), limit));
}

/**
 * Existing copies come first, and of these the assigned ones: copies beyond the limit exist because
 * they are to leave, and do.
 */
export function copiesWithin(
  places: readonly EvaluatedCluster[],
  { clusters }: SharedReplicaLimit,
  limit: ReplicaLimit,
  { last, maxSkews }: Pick<LimitDistribution, "last" | "maxSkews">,
): readonly EvaluatedCluster[] {
  const inside = places.filter(({ name, share }) => clusters.has(name) && retainsCopy(share));
  const isDecided = (name: string) =>
    last !== undefined && assignedReplicasIn(last, (one) => one === name) > 0;
  const rank = ({ name, share }: EvaluatedCluster) =>
    isUnreachable(share) ? 0 : isDecided(name) ? 1 : 2;
  const there = inside.filter(({ share }) => share.copy !== undefined);
  const ranked = there.sort(
    (one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1),
  );
  const kept = new Set(ranked.slice(0, limit.replicas).map(({ name }) => name));
  const beyond = ranked.slice(limit.replicas).filter(({ share }) => !isUnreachable(share));
  const surplus = new Set(beyond.map(({ name }) => name));
  const open = eligibleClusters(inside.map(({ share }) => share));
  const shares = inside
    .filter(({ share }) => share.copy === undefined)
    .map(({ name, share }) => {
      const { weight, capacity, domains, maxReplicas = Number.POSITIVE_INFINITY } = share;
      const most = Math.min(1, maxReplicas);
      return {
        name,
        weight,
        capacity,
        domains,
        ready: open.has(share),
        maxReplicas: most,
        current: 0,
      };
    });
  const shared = distribute(limit.replicas - kept.size, shares, maxSkews);
  return places.map((evaluated) => {
    const { name } = evaluated;
    if (surplus.has(name)) return withState(evaluated, "Draining");
    if (!clusters.has(name) || kept.has(name)) return evaluated;
    return bounded(evaluated, shared.get(name) ?? 0, limit);
  });
}

/** Whether the cluster has a copy and is not about to give it up. */
export function retainsCopy(share: ClusterShare): boolean {
  return share.copy?.isDeleting !== true && (!isToBeDrained(share) || isUnreachable(share));
}

function bounded(
  evaluatedCluster: EvaluatedCluster,
  share: number | undefined,
  { reason, detail }: ReplicaLimit,
): EvaluatedCluster {
  const { share: member, schedulingResult } = evaluatedCluster;
  const { maxReplicas = Number.POSITIVE_INFINITY } = member;
  if (share === undefined || share >= maxReplicas) return evaluatedCluster;
  return {
    ...evaluatedCluster,
    share: { ...member, maxReplicas: share },
    schedulingResult: schedulingResult && {
      ...schedulingResult,
      maxReplicas: { replicas: share, reason, detail },
    },
  };
}

export function withState(
  evaluatedCluster: EvaluatedCluster,
  state: ClusterShare["state"],
): EvaluatedCluster {
  return { ...evaluatedCluster, share: { ...evaluatedCluster.share, state } };
}
