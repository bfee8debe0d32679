/** What may be taken away, and when. */
import assert from "node:assert/strict";
import { softFinalizersOf } from "../../../api/index.ts";
import { budgetOf, rolloutOf } from "../../rollout.ts";
import type { Workload } from "../../workload.ts";
import { JobCopy, startOf } from "./copies.ts";
import type { ClusterSet } from "./fleet.ts";
import { isBeyondLimits } from "./laws-of-bounds.ts";
import { isOpenTo, mustMove } from "./permissions.ts";
import { mayBeReady, type ReportedReadiness, reliablyReady, shareWithin } from "./readiness.ts";
import { clusterOf, type ObservedWorkload, type SimulatedWorkload } from "./whole.ts";

export interface ScaleDown {
  readonly fleet: ClusterSet;
  readonly whole: SimulatedWorkload;
  readonly seen: ObservedWorkload;
  readonly before: Workload;
  /** Undefined: it is removed. */
  readonly after: Workload | undefined;
  readonly asked: number;
  /** So many there were to be, where not all of them may. */
  readonly meant: number;
  /** Somebody wants it out of its cluster. */
  readonly isToLeave: boolean;
  /** As it was, and as it was known to be. */
  readonly ready: number;
  readonly reported: ReportedReadiness;
}

export function checkScaleDown(less: ScaleDown): void {
  const { law } = less.whole.kind;
  checkHold(less);
  checkLost(less);
  if (law === "ending") checkWork(less);
  else if (law === "single") checkSchedule(less);
  else {
    if (less.after === undefined) checkMayGo(less);
    if (law === "numbered") checkRange(less);
    checkFloor(less);
  }
}

function checkHold({ fleet, before }: ScaleDown): void {
  const cluster = clusterOf(before);
  const { standing } = fleet.judgement(cluster);
  const holders = softFinalizersOf(before.metadata.annotations, cluster);
  // Nobody needs what is not there, and who is in a lost cluster cannot let go.
  const isOut = standing === "lost" || standing === "gone";
  assert.ok(isOut || holders.length === 0, `${before.metadata.name} is held by ${holders.join()}`);
}

/** What cannot be seen is not taken away, unless somebody wants the cluster empty; at most one: unless it has surely stopped. */
function checkLost({ fleet, whole, isToLeave, before, after }: ScaleDown): void {
  const cluster = clusterOf(before);
  if (fleet.judgement(cluster).standing !== "lost") return;
  if (whole.isOnce) {
    const running = fleet.copyOf(whole, before, cluster)?.running ?? 0;
    const isScaled = after !== undefined;
    const text = `${cluster} is lost, and ${whole.name} taken away though it may run there`;
    assert.ok(isScaled || isToLeave || running === 0, text);
    return;
  }
  const text = `${cluster} is lost, and ${whole.name} removed there`;
  assert.ok(after !== undefined || isToLeave, text);
}

/**
 * What is known to be ready stays so, as much of it as the budget does not spare; but for what clusters have lost without saying so. While fewer are, nothing is taken away
 * that may be ready.
 */
function checkFloor(less: ScaleDown): void {
  const { fleet, whole, asked, ready, reported, before, after } = less;
  const least = minimumOf(less);
  const left = reliablyReady(fleet, whole, asked);
  const cluster = clusterOf(before);
  const text = `${left} of ${whole.name} are ready after a cut in ${cluster}, ${ready} before it, ${reported.ready} reported, ${asked} asked for`;
  if (reported.ready >= least) {
    assert.ok(left >= least - reported.lost, text);
    return;
  }
  const { standing } = fleet.judgement(cluster);
  // Of a lost cluster nobody relies on anything; there, what is no longer asked for goes.
  if (standing === "lost" || standing === "gone") return;
  const share = after === undefined ? 0 : shareWithin(whole, after, asked);
  const most = mayBeReady(fleet, whole, before, asked);
  assert.ok(share >= most, `${text}, and ${most} may have been ready there`);
}

/** What is to stay at least. */
export function minimumOf(less: Pick<ScaleDown, "whole" | "seen" | "asked" | "meant">): number {
  const { whole, seen } = less;
  const asked = Math.min(less.asked, less.meant);
  const { law } = whole.kind;
  if (law === "everywhere") return 1;
  const { unavailable } = budgetOf(rolloutOf(seen.parent.metadata.annotations), {}, asked);
  // Numbers leave one at a time, break before make.
  if (law === "numbered") return asked - Math.max(1, unavailable);
  if (whole.isOnce) return 0;
  return Math.max(Math.min(1, asked), asked - unavailable);
}

/**
 * A part goes where somebody wants its cluster empty; what is there or not, also where it is too much: another one is there, and stays. So does a copy that is more than may be, because it was to be
 * elsewhere.
 */
function checkMayGo({ fleet, whole, seen, isToLeave, before }: ScaleDown): void {
  const cluster = clusterOf(before);
  const others = [...whole.parts.values()].filter(({ metadata }) => {
    return metadata.name !== before.metadata.name && metadata.deletionTimestamp === undefined;
  });
  const isSuperfluous = whole.kind.isWhole === true && others.some((one) => isInSight(fleet, one));
  const isStopped = whole.isOnce && fleet.judgement(cluster).standing === "lost";
  const isTooMany = isBeyondLimits(fleet, whole, seen, cluster);
  const mayGo = isToLeave || isSuperfluous || isStopped || isTooMany;
  assert.ok(mayGo, `${whole.name} is removed from ${cluster}, which may keep it`);
}

function isInSight(fleet: ClusterSet, part: Workload): boolean {
  const { standing } = fleet.judgement(clusterOf(part));
  return standing !== "lost" && standing !== "gone";
}

/** None whose claim may not go; and only of clusters that are to be emptied, or that make room for those. */
function checkRange(less: ScaleDown): void {
  const { fleet, whole, seen, before, after, asked } = less;
  const cluster = clusterOf(before);
  const range = (one: Workload | undefined) => {
    const { replicas } = one === undefined ? { replicas: 0 } : whole.kind.strategy.shareOf(one);
    const start = startOf(one?.spec);
    return { start, end: start + replicas };
  };
  const [was, is] = [range(before), range(after)];
  // What a lost cluster's agent has stopped is so already.
  if (fleet.judgement(cluster).standing === "lost") return;
  const isAnybodyLeaving = [...whole.parts.values()].some((part) =>
    mustMove(fleet, whole, clusterOf(part), seen),
  );
  for (let number = was.start; number < Math.min(was.end, asked); number++) {
    if (number >= is.start && number < is.end) continue;
    const claim = whole.claims.get(number);
    const isKept = claim?.stays === true && claim.asked !== undefined;
    assert.ok(!isKept, `${number} of ${whole.name} is stopped though its claim may not go`);
    const isLeaving = isAnybodyLeaving || less.isToLeave;
    assert.ok(isLeaving, `${number} of ${whole.name} is stopped in ${cluster} for nobody`);
  }
}

/** Nothing that can be seen is stopped before its end, unless all is done. */
function checkWork({ fleet, whole, before }: ScaleDown): void {
  const cluster = clusterOf(before);
  const { standing } = fleet.judgement(cluster);
  const copy = fleet.copyOf(whole, before, cluster);
  if (standing === "gone" || copy === undefined) return;
  // What a lost cluster's agent has stopped is so already.
  if (whole.isOnce && standing === "lost") return;
  const isDone = copy instanceof JobCopy && copy.isComplete;
  const isSuperfluous = whole.asked() === 0;
  assert.ok(isDone || isSuperfluous, `${before.metadata.name} is taken away before its end`);
}

/** A schedule is kept where it is, while nobody else can keep it. */
function checkSchedule({ fleet, whole, seen, before }: ScaleDown): void {
  const cluster = clusterOf(before);
  const others = [...fleet.targets.values()].filter(({ name }) => name !== cluster);
  const isKept = others.some(
    (target) => isOpenTo(fleet, whole, target, seen) || whole.partsIn(target.name).length > 0,
  );
  const isGone = fleet.judgement(cluster).standing === "gone";
  assert.ok(isKept || isGone, `${whole.name} is stopped in ${cluster}, and nobody else keeps it`);
}
