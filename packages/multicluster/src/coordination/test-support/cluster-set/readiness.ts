/** The ready replicas of a workload: in the simulation, and as far as the coordinator can know. */
import type { Workload } from "../../workload.ts";
import type { ClusterSet } from "./cluster-set.ts";
import { StatefulSetCopy } from "./simulated-copies.ts";
import { clusterOf, type ObservedWorkload, type SimulatedWorkload } from "./simulated-workload.ts";

/** Ready replicas in reliable clusters, after the clusters have observed the current specs. */
export function reliablyReady(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  requested: number,
): number {
  let ready = 0;
  for (const copy of workload.copies.values()) {
    if (copy.metadata.deletionTimestamp !== undefined) continue;
    if (!clusterSet.evaluation(clusterOf(copy)).isTrusted) continue;
    ready += readyOf(clusterSet, workload, copy, requested);
  }
  return ready;
}

export interface ReportedReadiness {
  /** Reliable replicas, by the reports that were read and the current specs. */
  readonly ready: number;
  /**
   * The number of these that are not ready: a reliable cluster has lost them, and has not reported
   * it.
   */
  readonly lost: number;
}

export function reportedReady(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  observed: ObservedWorkload,
  requested: number,
): ReportedReadiness {
  let [ready, lost] = [0, 0];
  for (const copy of observed.copies) {
    const current = workload.copies.get(copy.metadata.name);
    if (current === undefined || current.metadata.deletionTimestamp !== undefined) continue;
    const known = reportOf(clusterSet, workload, copy, current, requested);
    ready += known;
    lost += Math.max(0, known - readyOf(clusterSet, workload, current, requested));
  }
  return { ready, lost };
}

/** A report counts if it is about the newest spec, and from a cluster that has recovered. */
function reportOf(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  observed: Workload,
  current: Workload,
  requested: number,
): number {
  const { strategy } = workload.kind;
  const { available, isObserved } = strategy.statusReportOf(observed);
  if (!isObserved || !clusterSet.evaluation(clusterOf(observed)).isTrusted) return 0;
  const within = shareWithin(workload, observed, requested);
  // A cluster does not report which of its ordinals are available.
  const others = strategy.shareOf(observed).replicas - within;
  const surely = Math.max(0, available - others);
  return Math.min(surely, within, shareWithin(workload, current, requested));
}

/** An upper bound of the ready replicas of a copy. */
export function mayBeReady(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  copy: Workload,
  requested: number,
): number {
  const { available, isObserved } = workload.kind.strategy.statusReportOf(copy);
  const within = shareWithin(workload, copy, requested);
  const isKnown = isObserved && clusterSet.evaluation(clusterOf(copy)).isTrusted;
  return isKnown ? Math.min(available, within) : within;
}

function readyOf(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  part: Workload,
  requested: number,
): number {
  const copy = clusterSet.copyOf(workload, part, clusterOf(part));
  if (copy === undefined) return 0;
  if (!(copy instanceof StatefulSetCopy))
    return Math.min(copy.ready(clusterSet.nowMs), shareWithin(workload, part, requested));
  const { start = 0, replicas } = workload.kind.strategy.shareOf(part);
  const end = Math.min(start + replicas, requested);
  return [...copy.ordinals].filter(
    ([number, readyAtMs]) => number >= start && number < end && readyAtMs <= clusterSet.nowMs,
  ).length;
}

/** A scale-down removes the highest ordinals, whichever are ready. */
export function shareWithin(
  workload: SimulatedWorkload,
  copy: Workload,
  requested: number,
): number {
  const { replicas, start } = workload.kind.strategy.shareOf(copy);
  if (workload.kind.invariants !== "ordinal" || start === undefined) return replicas;
  return Math.max(0, Math.min(start + replicas, requested) - start);
}
