/**
 * Selects the copies that get a newer template now, and the number of Pods that each may replace at
 * a time: one set of rolling update limits for all clusters together.
 *
 * Invariants:
 *
 * 1. However each cluster uses its limits, the requested Pods less maxUnavailable stay available;
 *    where fewer are available, no available Pod is at risk.
 * 2. Templates cause no more than maxSurge Pods above the requested number, in all clusters
 *    together.
 * 3. A copy without available Pods has nothing to lose, and gets the newest template immediately: a
 *    first rollout, and the correction of a failed one, do not wait.
 * 4. Copies in clusters that are Unreachable or NotReady stay unchanged, and the rollout does not
 *    wait for them: they are updated when their clusters are back.
 *
 * The invariants rely on the guarantee of clusters: with `unavailable: n`, a cluster stops no
 * available Pod of a copy while n Pods are unavailable.
 */
import { AvailabilityBudget } from "../stepper/availability-budget.ts";
import { sumOf } from "../stepper/cluster-share.ts";
import type { RollingUpdateLimits, RolloutMode } from "./kind-rollout.ts";

export interface RollingCopy {
  readonly name: string;
  /** The Pods in the copy's last written spec, and the desired Pods. */
  readonly previousPods: number;
  readonly pods: number;
  /** A lower bound of the available Pods. */
  readonly available: number;
  /** The report is up to date: no other Pod is available. */
  readonly isReported: boolean;
  readonly isOutdated: boolean;
  /** The limits with which the cluster is replacing the copy's Pods. */
  readonly limits: RollingUpdateLimits | undefined;
  /** The copy's cluster is Unreachable: the rollout does not wait for it. */
  readonly isUnreachable: boolean;
  /** The copy's cluster is NotReady: the rollout does not select it. */
  readonly isNotReady: boolean;
  /** For kinds whose copies are updated one after the other: the highest rank first. */
  readonly rank: number | undefined;
}

export interface RolloutTurnsInput {
  readonly copies: readonly RollingCopy[];
  /** The available Pods if none were unavailable. */
  readonly scheduled: number;
  readonly mode: RolloutMode;
}

/**
 * The copies that get a newer template, by cluster name: with rolling update limits, or undefined
 * when their cluster decides.
 */
export type RolloutTurns = ReadonlyMap<string, RollingUpdateLimits | undefined>;

export function rolloutTurns({ copies, scheduled, mode }: RolloutTurnsInput): RolloutTurns {
  const turns = new Map<string, RollingUpdateLimits | undefined>();
  const behind = copies.filter(({ isOutdated, isNotReady }) => isOutdated && !isNotReady);
  if (mode === "OnDelete" || mode === "Recreate") {
    for (const { name } of behind) turns.set(name, undefined);
    return turns;
  }
  const budget = rolloutAvailabilityOf(copies, scheduled, mode);
  for (const copy of inTurn(copies, behind)) {
    const pace = limitsFor(copy, budget, mode);
    if (pace === undefined) continue;
    const loss = lossOf(copy, pace);
    budget.available.spend(loss);
    if (loss > 0) budget.smallest = Math.min(budget.smallest, copy.pods);
    budget.surge -= pace.surge;
    turns.set(copy.name, mode === "ClusterByCluster" ? undefined : pace);
  }
  return turns;
}

interface RolloutAvailability {
  readonly available: AvailabilityBudget;
  surge: number;
  /** The smallest of the copies that are updated now and have available Pods. */
  smallest: number;
}

function rolloutAvailabilityOf(
  copies: readonly RollingCopy[],
  scheduled: number,
  allowance: RollingUpdateLimits | "ClusterByCluster",
): RolloutAvailability {
  const known = copies.filter(({ isUnreachable }) => !isUnreachable);
  const { unavailable, surge } =
    allowance === "ClusterByCluster" ? { unavailable: 0, surge: 0 } : allowance;
  const inUse = sumOf(known, ({ limits }) => limits?.surge ?? 0);
  const left = Math.max(0, surge - inUse);
  const available = new AvailabilityBudget(sumOf(known, surely), scheduled - unavailable);
  return { available, surge: left, smallest: Number.POSITIVE_INFINITY };
}

/**
 * The available Pods in the worst use of the limits: before the cluster observes a larger number of
 * replicas, and after it has observed a smaller one, of which it may stop as many.
 */
function surely(copy: RollingCopy): number {
  return atWorst(copy, Math.min(copy.previousPods, copy.pods));
}

/** The same bound, if the cluster observes other limits together with its replicas. */
function untilTurn(copy: RollingCopy): number {
  return atWorst(copy, copy.previousPods);
}

function atWorst({ pods, available, limits }: RollingCopy, share: number): number {
  const kept = limits === undefined ? pods : share - limits.unavailable;
  return Math.max(0, Math.min(available, pods, kept));
}

function lossOf(copy: RollingCopy, { unavailable }: RollingUpdateLimits): number {
  return surely(copy) - Math.max(0, Math.min(untilTurn(copy), copy.pods - unavailable));
}

/** The limits for a copy; undefined when it must wait. */
function limitsFor(
  copy: RollingCopy,
  rolloutAvailability: RolloutAvailability,
  allowance: RollingUpdateLimits | "ClusterByCluster",
) {
  const { pods, isReported } = copy;
  if (pods === 0) return { unavailable: 0, surge: 0 };
  const needed = surely(copy) - rolloutAvailability.available.spare;
  if (allowance === "ClusterByCluster") {
    // All Pods of a cluster, and no more; any of the copies that are updated now may be the last to
    // observe it.
    const most = Math.min(pods, rolloutAvailability.smallest);
    const isSpared = most >= needed || (isReported && untilTurn(copy) === 0);
    return isSpared ? { unavailable: pods, surge: 0 } : undefined;
  }
  // Pods that are known to be unavailable already cost nothing more.
  const kept = isReported ? Math.min(untilTurn(copy), needed) : needed;
  const unavailable = Math.max(0, Math.min(pods, pods - kept));
  const surge = Math.min(pods, rolloutAvailability.surge);
  return unavailable + surge === 0 ? undefined : { unavailable, surge };
}

/**
 * Copies without available Pods first. Where copies are ranked, then the next one, if those before
 * it are complete.
 */
function inTurn(
  copies: readonly RollingCopy[],
  behind: readonly RollingCopy[],
): readonly RollingCopy[] {
  const isFree = (copy: RollingCopy) => copy.isReported && copy.available === 0;
  const free = behind.filter(isFree);
  const others = behind.filter((copy) => !isFree(copy));
  if (others.every(({ rank }) => rank === undefined))
    return [...free.sort(byName), ...others.sort(byName)];
  const inOrder = copies
    .filter(({ isUnreachable, pods }) => !isUnreachable && pods > 0)
    .sort((a, b) => (b.rank ?? 0) - (a.rank ?? 0));
  const first = inOrder.find((copy) => copy.isOutdated || copy.limits !== undefined);
  return first === undefined || !others.includes(first) ? free : [...free, first];
}

function byName(a: RollingCopy, b: RollingCopy): number {
  return a.name < b.name ? -1 : 1;
}
