/** How much of what is asked for is ready: as it is, and as far as whoever decides can know. */
import type { Workload } from "../../workload.ts";
import { StatefulSetCopy } from "./copies.ts";
import type { ClusterSet } from "./fleet.ts";
import { clusterOf, type ObservedWorkload, type SimulatedWorkload } from "./whole.ts";

/** Ready, in clusters that can be relied on, had they what the API says now. */
export function reliablyReady(fleet: ClusterSet, whole: SimulatedWorkload, asked: number): number {
  let ready = 0;
  for (const part of whole.parts.values()) {
    if (part.metadata.deletionTimestamp !== undefined) continue;
    if (!fleet.judgement(clusterOf(part)).isTrusted) continue;
    ready += readyOf(fleet, whole, part, asked);
  }
  return ready;
}

export interface ReportedReadiness {
  /** What can be relied on, by the reports that were read and the shares as they are now. */
  readonly ready: number;
  /** So many of these are not: a cluster that is relied on has lost them, and has not said so. */
  readonly lost: number;
}

export function reportedReady(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  seen: ObservedWorkload,
  asked: number,
): ReportedReadiness {
  let [ready, lost] = [0, 0];
  for (const part of seen.parts) {
    const current = whole.parts.get(part.metadata.name);
    if (current === undefined || current.metadata.deletionTimestamp !== undefined) continue;
    const known = reportOf(fleet, whole, part, current, asked);
    ready += known;
    lost += Math.max(0, known - readyOf(fleet, whole, current, asked));
  }
  return { ready, lost };
}

/** A report counts if it is about the newest spec, and from a cluster that has been Ready for a while. */
function reportOf(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  seen: Workload,
  current: Workload,
  asked: number,
): number {
  const { strategy } = whole.kind;
  const { available, isObserved } = strategy.report(seen);
  if (!isObserved || !fleet.judgement(clusterOf(seen)).isTrusted) return 0;
  const within = shareWithin(whole, seen, asked);
  // Which of its numbers are available, a cluster does not say.
  const others = strategy.shareOf(seen).replicas - within;
  const surely = Math.max(0, available - others);
  return Math.min(surely, within, shareWithin(whole, current, asked));
}

/** The most that may be ready of a part, for all that is known of it. */
export function mayBeReady(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  part: Workload,
  asked: number,
): number {
  const { available, isObserved } = whole.kind.strategy.report(part);
  const within = shareWithin(whole, part, asked);
  const isKnown = isObserved && fleet.judgement(clusterOf(part)).isTrusted;
  return isKnown ? Math.min(available, within) : within;
}

function readyOf(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  part: Workload,
  asked: number,
): number {
  const copy = fleet.copyOf(whole, part, clusterOf(part));
  if (copy === undefined) return 0;
  if (!(copy instanceof StatefulSetCopy))
    return Math.min(copy.ready(fleet.nowMs), shareWithin(whole, part, asked));
  const { start = 0, replicas } = whole.kind.strategy.shareOf(part);
  const end = Math.min(start + replicas, asked);
  return [...copy.numbers].filter(
    ([number, readyAtMs]) => number >= start && number < end && readyAtMs <= fleet.nowMs,
  ).length;
}

/** When fewer are asked for, the highest numbers go, whichever are ready. */
export function shareWithin(whole: SimulatedWorkload, part: Workload, asked: number): number {
  const { replicas, start } = whole.kind.strategy.shareOf(part);
  if (whole.kind.law !== "numbered" || start === undefined) return replicas;
  return Math.max(0, Math.min(start + replicas, asked) - start);
}
