/** Invariants of scale-downs and removals. */
import assert from "node:assert/strict";
import { softFinalizersOf } from "../../../api/index.ts";
import { budgetOf, rolloutOf } from "../../rollout-policy.ts";
import type { Workload } from "../../workload.ts";
import type { ClusterSet } from "./cluster-set.ts";
import { isOpenTo, mustMove } from "./eligibility.ts";
import { isBeyondLimits } from "./limit-invariants.ts";
import { mayBeReady, type ReportedReadiness, reliablyReady, shareWithin } from "./readiness.ts";
import { JobCopy, startOf } from "./simulated-copies.ts";
import { clusterOf, type ObservedWorkload, type SimulatedWorkload } from "./simulated-workload.ts";

export interface ScaleDown {
  readonly clusterSet: ClusterSet;
  readonly workload: SimulatedWorkload;
  readonly observed: ObservedWorkload;
  readonly before: Workload;
  /** The copy after the write; undefined when it is removed. */
  readonly after: Workload | undefined;
  readonly requested: number;
  /** The desired replicas, where limits permit fewer than requested. */
  readonly desired: number;
  /** The copy is to leave its cluster. */
  readonly mustMove: boolean;
  /** The ready replicas in the simulation, and as reported. */
  readonly ready: number;
  readonly reported: ReportedReadiness;
}

export function checkScaleDown(less: ScaleDown): void {
  const { invariants } = less.workload.kind;
  checkHold(less);
  checkLost(less);
  if (invariants === "finite") checkWork(less);
  else if (invariants === "single") checkSchedule(less);
  else {
    if (less.after === undefined) checkMayGo(less);
    if (invariants === "ordinal") checkRange(less);
    checkFloor(less);
  }
}

function checkHold({ clusterSet, before }: ScaleDown): void {
  const cluster = clusterOf(before);
  const { state } = clusterSet.evaluation(cluster);
  const holders = softFinalizersOf(before.metadata.annotations, cluster);
  // A finalizer does not block in an Unregistered cluster, and its owner cannot remove it in an
  // Unreachable one.
  const isOut = state === "Unreachable" || state === "Unregistered";
  assert.ok(isOut || holders.length === 0, `${before.metadata.name} is held by ${holders.join()}`);
}

/**
 * Replicas of an Unreachable cluster are not removed, unless the cluster is to be drained; with
 * StopBeforeStart: unless they have certainly stopped.
 */
function checkLost({ clusterSet, workload, mustMove: isToLeave, before, after }: ScaleDown): void {
  const cluster = clusterOf(before);
  if (clusterSet.evaluation(cluster).state !== "Unreachable") return;
  if (workload.isStopBeforeStart) {
    const running = clusterSet.copyOf(workload, before, cluster)?.running ?? 0;
    const isScaled = after !== undefined;
    const text = `${cluster} is lost, and ${workload.name} taken away though it may run there`;
    assert.ok(isScaled || isToLeave || running === 0, text);
    return;
  }
  const text = `${cluster} is lost, and ${workload.name} removed there`;
  assert.ok(after !== undefined || isToLeave, text);
}

/**
 * Replicas that are known to be ready stay ready, less maxUnavailable; except replicas that a
 * cluster has lost without a report. While fewer are ready, no replica is removed that may be
 * ready.
 */
function checkFloor(less: ScaleDown): void {
  const { clusterSet, workload, requested, ready, reported, before, after } = less;
  const least = minimumOf(less);
  const left = reliablyReady(clusterSet, workload, requested);
  const cluster = clusterOf(before);
  const text = `${left} of ${workload.name} are ready after a cut in ${cluster}, ${ready} before it, ${reported.ready} reported, ${requested} asked for`;
  if (reported.ready >= least) {
    assert.ok(left >= least - reported.lost, text);
    return;
  }
  const { state } = clusterSet.evaluation(cluster);
  // Replicas of an Unreachable cluster are not relied on; surplus ones are removed there.
  if (state === "Unreachable" || state === "Unregistered") return;
  const share = after === undefined ? 0 : shareWithin(workload, after, requested);
  const most = mayBeReady(clusterSet, workload, before, requested);
  assert.ok(share >= most, `${text}, and ${most} may have been ready there`);
}

/** The minimum of ready replicas. */
export function minimumOf(
  less: Pick<ScaleDown, "workload" | "observed" | "requested" | "desired">,
): number {
  const { workload, observed } = less;
  const requested = Math.min(less.requested, less.desired);
  const { invariants } = workload.kind;
  if (invariants === "duplicated") return 1;
  const { unavailable } = budgetOf(rolloutOf(observed.parent.metadata.annotations), {}, requested);
  // Ordinals leave one at a time, with StopBeforeStart.
  if (invariants === "ordinal") return requested - Math.max(1, unavailable);
  if (workload.isStopBeforeStart) return 0;
  return Math.max(Math.min(1, requested), requested - unavailable);
}

/**
 * A copy is removed from a Draining cluster; an all-or-nothing copy also where it is surplus:
 * another copy exists, and stays. So is a duplicated copy beyond a limit, because it was assigned
 * elsewhere.
 */
function checkMayGo({
  clusterSet,
  workload,
  observed,
  mustMove: isToLeave,
  before,
}: ScaleDown): void {
  const cluster = clusterOf(before);
  const others = [...workload.copies.values()].filter(({ metadata }) => {
    return metadata.name !== before.metadata.name && metadata.deletionTimestamp === undefined;
  });
  const isSuperfluous =
    workload.kind.isIndivisible === true && others.some((one) => isInSight(clusterSet, one));
  const isStopped =
    workload.isStopBeforeStart && clusterSet.evaluation(cluster).state === "Unreachable";
  const isTooMany = isBeyondLimits(clusterSet, workload, observed, cluster);
  const mayGo = isToLeave || isSuperfluous || isStopped || isTooMany;
  assert.ok(mayGo, `${workload.name} is removed from ${cluster}, which may keep it`);
}

function isInSight(clusterSet: ClusterSet, copy: Workload): boolean {
  const { state } = clusterSet.evaluation(clusterOf(copy));
  return state !== "Unreachable" && state !== "Unregistered";
}

/**
 * No ordinal leaves whose claim must not move; and ordinals leave only Draining clusters, or
 * clusters that vacate their range for those.
 */
function checkRange(less: ScaleDown): void {
  const { clusterSet, workload, observed, before, after, requested } = less;
  const cluster = clusterOf(before);
  const range = (one: Workload | undefined) => {
    const { replicas } = one === undefined ? { replicas: 0 } : workload.kind.strategy.shareOf(one);
    const start = startOf(one?.spec);
    return { start, end: start + replicas };
  };
  const [was, is] = [range(before), range(after)];
  // The agent of an Unreachable cluster has already stopped the ordinal.
  if (clusterSet.evaluation(cluster).state === "Unreachable") return;
  const isAnybodyLeaving = [...workload.copies.values()].some((copy) =>
    mustMove(clusterSet, workload, clusterOf(copy), observed),
  );
  for (let number = was.start; number < Math.min(was.end, requested); number++) {
    if (number >= is.start && number < is.end) continue;
    const claim = workload.claims.get(number);
    const isKept = claim?.stays === true && claim.asked !== undefined;
    assert.ok(!isKept, `${number} of ${workload.name} is stopped though its claim may not go`);
    const isLeaving = isAnybodyLeaving || less.mustMove;
    assert.ok(isLeaving, `${number} of ${workload.name} is stopped in ${cluster} for nobody`);
  }
}

/** No work of a reachable cluster is stopped before it completes, unless the Job is complete. */
function checkWork({ clusterSet, workload, before }: ScaleDown): void {
  const cluster = clusterOf(before);
  const { state } = clusterSet.evaluation(cluster);
  const copy = clusterSet.copyOf(workload, before, cluster);
  if (state === "Unregistered" || copy === undefined) return;
  // The agent of an Unreachable cluster has already stopped the work.
  if (workload.isStopBeforeStart && state === "Unreachable") return;
  const isDone = copy instanceof JobCopy && copy.isComplete;
  const isSuperfluous = workload.desiredReplicas() === 0;
  assert.ok(isDone || isSuperfluous, `${before.metadata.name} is taken away before its end`);
}

/** A schedule stays in its cluster while no other cluster can run it. */
function checkSchedule({ clusterSet, workload, observed, before }: ScaleDown): void {
  const cluster = clusterOf(before);
  const others = [...clusterSet.targets.values()].filter(({ name }) => name !== cluster);
  const isKept = others.some(
    (target) =>
      isOpenTo(clusterSet, workload, target, observed) || workload.copiesIn(target.name).length > 0,
  );
  const isGone = clusterSet.evaluation(cluster).state === "Unregistered";
  assert.ok(
    isKept || isGone,
    `${workload.name} is stopped in ${cluster}, and nobody else keeps it`,
  );
}
