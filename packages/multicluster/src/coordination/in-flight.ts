/**
 * Replicas in flight: replicas that a decision removes from one cluster before they are in another
 * one (StopBeforeStart, one ordinal at a time, or within maxUnavailable). Without a record, such a
 * replica would be unknown when the process that moves it ends, and another workload, or a limit
 * that is lowered at that moment, would take its capacity. So the record has it before the removal,
 * until it has arrived. Only needed where Locations limit capacity; elsewhere capacity is always
 * available. Pure.
 */
import { workloadsResource } from "../api/index.ts";
import {
  type InFlightByCluster,
  type InFlightReplicas,
  inFlightReplicas,
  reservationOf,
} from "../scheduling/index.ts";
import type { EvaluatedCluster } from "./decide.ts";
import type { Plan } from "./stepper/plan.ts";

export interface MoveInProgress {
  /** The in-flight replicas that the record has. */
  readonly recorded: InFlightByCluster;
  readonly clusters: readonly EvaluatedCluster[];
  readonly plan: Pick<Plan, "next" | "goal">;
  /** The requested replicas, up to the limit. */
  readonly maxTotal: number;
  /** The destination of an ordinal is decided when the ordinal moves. */
  readonly isOrdinal: boolean;
  /** The resource requests of each replica. */
  readonly requests: InFlightReplicas["reserved"];
  readonly isLimited: boolean;
}

/** The in-flight replicas of the next record: an arriving replica stays until it has arrived. */
export function inFlightToRecord(
  all: InFlightByCluster,
  recorded: InFlightByCluster,
  /** Whether per-cluster objects are to be written. */
  isWriting: boolean,
): InFlightByCluster {
  return isWriting && inFlightReplicas(all) <= inFlightReplicas(recorded) ? recorded : all;
}

/**
 * The replicas that were in clusters or in flight, are desired, and are in no cluster after this
 * step.
 */
export function inFlightAfter(moving: MoveInProgress): InFlightByCluster {
  const { recorded, clusters, plan, maxTotal, isOrdinal, requests } = moving;
  if (!moving.isLimited) return new Map();
  const [before, after] = [sumIn(clusters, hasOf), sumIn(clusters, (one) => willHave(one, plan))];
  let left = Math.min(maxTotal, before + inFlightReplicas(recorded)) - after;
  const all = new Map<string, InFlightReplicas>();
  const put = ({ name, share }: EvaluatedCluster, most: number) => {
    const replicas = Math.min(left, most);
    if (replicas <= 0) return;
    left -= replicas;
    const sum = replicas + (all.get(name)?.replicas ?? 0);
    const reserved = new Map(reservationOf(requests, sum));
    // The existing per-cluster object counts itself.
    if (share.copy !== undefined) reserved.delete(workloadsResource);
    all.set(name, { replicas: sum, reserved });
  };
  for (const evaluated of clusters)
    put(evaluated, (plan.goal.get(evaluated.name) ?? 0) - willHave(evaluated, plan));
  const [somewhere] = isOrdinal ? clusters.filter(isInSight) : [];
  if (somewhere !== undefined) put(somewhere, left);
  return all;
}

function sumIn(
  clusters: readonly EvaluatedCluster[],
  amountOf: (evaluatedCluster: EvaluatedCluster) => number,
): number {
  return clusters.filter(isInSight).reduce((sum, one) => sum + amountOf(one), 0);
}

/**
 * Replicas of an Unreachable cluster are replaced, so they count as little as replicas that never
 * existed.
 */
function isInSight({ share: { state } }: EvaluatedCluster): boolean {
  return state !== "Unreachable" && state !== "Unregistered";
}

function hasOf({ share: { copy } }: EvaluatedCluster): number {
  return copy === undefined || copy.isDeleting ? 0 : copy.replicas;
}

function willHave(evaluatedCluster: EvaluatedCluster, { next }: Pick<Plan, "next">): number {
  const wanted = next.get(evaluatedCluster.name);
  if (wanted === undefined) return hasOf(evaluatedCluster);
  return wanted === "remove" ? 0 : wanted;
}
