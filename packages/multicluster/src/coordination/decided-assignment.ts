/**
 * The assignment of a decision: the desired replicas, the retained replicas, and the reasons. Pure.
 */
import { type InFlightByCluster, inFlightReplicas } from "../scheduling/index.ts";
import type { DecideInput, EvaluatedCluster } from "./decide.ts";
import { type Assignment, assignedReplicasIn, lastAssignment } from "./placement-record.ts";
import { retainedReplicas, unreachableCopies } from "./retained-replicas.ts";
import { unschedulableReason } from "./rule-records.ts";
import { type ClusterShare, isToBeDrained } from "./stepper/cluster-share.ts";
import type { Plan } from "./stepper/plan.ts";

function isReceiving({ state }: ClusterShare): boolean {
  return state === "Ready" || state === "Recovering";
}

export interface DecidedPlacement {
  readonly clusters: readonly EvaluatedCluster[];
  readonly plan: Plan;
  readonly inFlight: InFlightByCluster;
}

export function decidedAssignment(
  { strategy, parent, record }: DecideInput,
  { clusters, plan, inFlight }: DecidedPlacement,
): Assignment {
  const { goal } = plan;
  const isCopied = strategy.capabilities.unit === "Everywhere";
  // Copies that should leave and stay for now are not part of the assignment; for replicas, the
  // plan accounts for this.
  const leaving = clusters.filter(({ share }) => isCopied && isToBeDrained(share));
  const isStaying = (name: string) => !leaving.some((one) => one.name === name);
  const shares = [...goal].filter(([name, share]) => share > 0 && isStaying(name));
  const replicas = strategy.desiredReplicas(parent);
  const last = lastAssignment(record);
  const isOrdinal = strategy.capabilities.unit === "Ordinal";
  const meant = Math.min(replicas, last === undefined ? 0 : assignedReplicasIn(last));
  const left = isOrdinal ? meant - inFlightReplicas(inFlight) : meant;
  const keeping = retainedReplicas(clusters, plan, { meant: left, before: last?.retained });
  return {
    assigned: Object.fromEntries(shares.sort(([a], [b]) => (a < b ? -1 : 1))),
    retained: { ...keeping, ...(isCopied ? unreachableCopies(clusters) : {}) },
    // An ordinal in flight between two clusters is in no assignment.
    inFlight: isOrdinal ? replicasByCluster(inFlight) : {},
  };
}

/** Why clusters have no replicas, or not more. */
export function assignmentReasons(
  clusters: readonly EvaluatedCluster[],
  { goal }: Pick<Plan, "goal">,
): readonly string[] {
  const isFull = ({ share }: EvaluatedCluster) =>
    (goal.get(share.name) ?? 0) >= (share.maxReplicas ?? Infinity);
  return clusters
    .filter((evaluated) => !isReceiving(evaluated.share) || isFull(evaluated))
    .flatMap((evaluated) => {
      const reason = unschedulableReason(evaluated);
      return reason === undefined ? [] : [`${evaluated.name}: ${reason}`];
    });
}

function replicasByCluster(all: InFlightByCluster): Readonly<Record<string, number>> {
  return Object.fromEntries([...all].map(([cluster, { replicas }]) => [cluster, replicas]));
}
