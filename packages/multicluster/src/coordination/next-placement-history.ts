/**
 * The placement record that a decision leaves on the workload: the desired assignment, the retained
 * replicas, and the reasons. Pure.
 */
import { type InFlightByCluster, inFlightReplicas } from "../scheduling/index.ts";
import { type ClusterShare, isToBeDrained } from "./cluster-share.ts";
import type { DecideInput, EvaluatedCluster } from "./decide.ts";
import {
  desiredReplicasIn,
  readPlacementHistory,
  withPlacementRecord,
} from "./placement-history.ts";
import type { Plan } from "./plan-moves.ts";
import { retainedReplicas, unreachableCopies } from "./retained-replicas.ts";
import { unschedulableReason } from "./scheduled-condition.ts";

function isReceiving({ state }: ClusterShare): boolean {
  return state === "Ready" || state === "Recovering";
}

export interface DecidedPlacement {
  readonly clusters: readonly EvaluatedCluster[];
  readonly plan: Plan;
  readonly inFlight: InFlightByCluster;
}

/** The placement history with this decision; undefined when the newest record is the same. */
export function nextPlacementHistory(
  { strategy, parent, nowMs }: DecideInput,
  { clusters, plan, inFlight }: DecidedPlacement,
): string | undefined {
  const { goal } = plan;
  const { annotations } = parent.metadata;
  const isCopied = strategy.replicaScheduling === "Duplicated";
  // Copies that should leave and stay for now are not part of the assignment; for replicas, the
  // plan accounts for this.
  const leaving = clusters.filter(({ share }) => isCopied && isToBeDrained(share));
  const isStaying = (name: string) => !leaving.some((one) => one.name === name);
  const shares = [...goal].filter(([name, share]) => share > 0 && isStaying(name));
  const assigned = Object.fromEntries(shares.sort(([a], [b]) => (a < b ? -1 : 1)));
  const isFull = ({ share }: EvaluatedCluster) =>
    (goal.get(share.name) ?? 0) >= (share.maxReplicas ?? Infinity);
  const reasons = clusters
    .filter((evaluated) => !isReceiving(evaluated.share) || isFull(evaluated))
    .flatMap((evaluated) => {
      const reason = unschedulableReason(evaluated);
      return reason === undefined ? [] : [`${evaluated.name}: ${reason}`];
    });
  const replicas = strategy.desiredReplicas(parent);
  const [last] = readPlacementHistory(annotations);
  const isOrdinal = strategy.replicaScheduling === "Ordinal";
  // An ordinal in flight between two clusters is in no assignment.
  const inFlightShares = isOrdinal ? replicasByCluster(inFlight) : {};
  const meant = Math.min(replicas, last === undefined ? 0 : desiredReplicasIn(last));
  const left = isOrdinal ? meant - inFlightReplicas(inFlight) : meant;
  const keeping = retainedReplicas(clusters, plan, { meant: left, before: last?.retained });
  const retained = { ...keeping, ...(isCopied ? unreachableCopies(clusters) : {}) };
  const record = {
    replicas,
    assigned,
    ...(isSome(retained) ? { retained } : {}),
    ...(isSome(inFlightShares) ? { inFlight: inFlightShares } : {}),
    reasons,
  };
  return withPlacementRecord(annotations, record, nowMs);
}

function replicasByCluster(all: InFlightByCluster): Readonly<Record<string, number>> {
  return Object.fromEntries([...all].map(([cluster, { replicas }]) => [cluster, replicas]));
}

function isSome(shares: Readonly<Record<string, number>>): boolean {
  return Object.keys(shares).length > 0;
}
