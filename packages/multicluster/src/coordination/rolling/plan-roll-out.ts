/**
 * Which parts get a newer template now, and how many Pods each may replace at a time: one budget for all clusters together.
 *
 * Invariants:
 * 1. However each cluster uses what it was allowed, as many stay available as are asked for less the budget; where fewer are, none that is available is put at stake.
 * 2. In all clusters together there are no more than the surge beyond what is asked for, because of templates.
 * 3. What has nothing available has nothing to lose, and gets the newest at once: a first rollout, and the correction of one that went wrong, wait for nobody.
 * 4. Parts in clusters that are lost or cannot be seen are left as they are, and nobody waits for them: they have their turn when they are back.
 *
 * It rests on what clusters promise: of a part whose Pods are replaced with `unavailable: n`, no available one is stopped while n are missing.
 */
import type { RollingUpdateLimits, RolloutMode } from "./form.ts";

export interface RollingCopy {
  readonly name: string;
  /** What it has been told to have, and what it is to have. */
  readonly has: number;
  readonly pods: number;
  /** Available, as far as it can be relied on. */
  readonly available: number;
  /** Its report counts: nothing else is available. */
  readonly isReported: boolean;
  readonly isBehind: boolean;
  /** Its Pods are being replaced, at this pace. */
  readonly pace: RollingUpdateLimits | undefined;
  /** Its cluster is lost: nobody waits for it. */
  readonly isOut: boolean;
  /** Its cluster cannot be seen: it has no turn. */
  readonly isAway: boolean;
  /** Where parts have their turn one after the other, the highest first. */
  readonly rank: number | undefined;
}

export interface RolloutTurnsInput {
  readonly parts: readonly RollingCopy[];
  /** What would be available if nothing were missing. */
  readonly placed: number;
  readonly allowance: RolloutMode;
}

/** By name, those that get a newer template: at which pace, or in whatever way their cluster does it. */
export type RolloutTurns = ReadonlyMap<string, RollingUpdateLimits | undefined>;

export function rolloutTurns({ parts, placed, allowance }: RolloutTurnsInput): RolloutTurns {
  const turns = new Map<string, RollingUpdateLimits | undefined>();
  const behind = parts.filter(({ isBehind, isAway }) => isBehind && !isAway);
  if (allowance === "byHand" || allowance === "atOnce") {
    for (const { name } of behind) turns.set(name, undefined);
    return turns;
  }
  const purse = rolloutAvailabilityOf(parts, placed, allowance);
  for (const part of inTurn(parts, behind)) {
    const pace = limitsFor(part, purse, allowance);
    if (pace === undefined) continue;
    const loss = lossOf(part, pace);
    purse.available -= loss;
    if (loss > 0) purse.smallest = Math.min(purse.smallest, part.pods);
    purse.surge -= pace.surge;
    turns.set(part.name, allowance === "clusterwise" ? undefined : pace);
  }
  return turns;
}

interface RolloutAvailability {
  /** What stays available, whatever happens. */
  available: number;
  surge: number;
  /** Of those that have their turn now, and something to lose. */
  smallest: number;
  readonly placed: number;
  readonly unavailable: number;
}

function rolloutAvailabilityOf(
  parts: readonly RollingCopy[],
  placed: number,
  allowance: RollingUpdateLimits | "clusterwise",
): RolloutAvailability {
  const known = parts.filter(({ isOut }) => !isOut);
  const { unavailable, surge } =
    allowance === "clusterwise" ? { unavailable: 0, surge: 0 } : allowance;
  const inUse = sum(known, ({ pace }) => pace?.surge ?? 0);
  const left = Math.max(0, surge - inUse);
  const available = sum(known, surely);
  return { available, surge: left, smallest: Number.POSITIVE_INFINITY, placed, unavailable };
}

/** However its cluster uses its pace: before it hears of a larger share, and when it has heard of a smaller one, of which it may stop as many. */
function surely(part: RollingCopy): number {
  return atWorst(part, Math.min(part.has, part.pods));
}

/** The same, if it hears of another pace together with its share. */
function untilTurn(part: RollingCopy): number {
  return atWorst(part, part.has);
}

function atWorst({ pods, available, pace }: RollingCopy, share: number): number {
  const kept = pace === undefined ? pods : share - pace.unavailable;
  return Math.max(0, Math.min(available, pods, kept));
}

function lossOf(part: RollingCopy, { unavailable }: RollingUpdateLimits): number {
  return surely(part) - Math.max(0, Math.min(untilTurn(part), part.pods - unavailable));
}

/** Undefined: it has to wait. */
function limitsFor(
  part: RollingCopy,
  purse: RolloutAvailability,
  allowance: RollingUpdateLimits | "clusterwise",
) {
  const { pods, isReported } = part;
  if (pods === 0) return { unavailable: 0, surge: 0 };
  const left = purse.available - (purse.placed - purse.unavailable);
  const needed = surely(part) - left;
  if (allowance === "clusterwise") {
    // All of a cluster, and no more; whichever of those that have their turn now is the last to hear of it.
    const most = Math.min(pods, purse.smallest);
    const isSpared = most >= needed || (isReported && untilTurn(part) === 0);
    return isSpared ? { unavailable: pods, surge: 0 } : undefined;
  }
  // What is missing already costs nothing more, if it is known to be missing.
  const kept = isReported ? Math.min(untilTurn(part), needed) : needed;
  const unavailable = Math.max(0, Math.min(pods, pods - kept));
  const surge = Math.min(pods, purse.surge);
  return unavailable + surge === 0 ? undefined : { unavailable, surge };
}

/** Those that have nothing to lose first. Where there is an order, then the one that is next, if those before it are done. */
function inTurn(
  parts: readonly RollingCopy[],
  behind: readonly RollingCopy[],
): readonly RollingCopy[] {
  const isFree = (part: RollingCopy) => part.isReported && part.available === 0;
  const free = behind.filter(isFree);
  const others = behind.filter((part) => !isFree(part));
  if (others.every(({ rank }) => rank === undefined))
    return [...free.sort(byName), ...others.sort(byName)];
  const inOrder = parts
    .filter(({ isOut, pods }) => !isOut && pods > 0)
    .sort((a, b) => (b.rank ?? 0) - (a.rank ?? 0));
  const first = inOrder.find((part) => part.isBehind || part.pace !== undefined);
  return first === undefined || !others.includes(first) ? free : [...free, first];
}

function byName(a: RollingCopy, b: RollingCopy): number {
  return a.name < b.name ? -1 : 1;
}

function sum(parts: readonly RollingCopy[], of: (part: RollingCopy) => number): number {
  return parts.reduce((total, part) => total + of(part), 0);
}
