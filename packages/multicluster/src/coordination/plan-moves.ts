/**
 * The next step from the split that is to the split that should be. Make before break: what is to move is started in its new place first, and
 * removed from its old place only as far as enough is available without it.
 *
 * Pure and without memory: called again with what came of the step, it gives the next one, until there is none. So it may be interrupted
 * anywhere, and what happens in between (a cluster fails, another joins, somebody scales) only changes where it leads. What a copy is in, and so whether it
 * may grow or shrink, is a matter of `move-machine.ts`; how much of it at a time, of the budget.
 *
 * Invariants:
 * 1. A step never lets the available replicas that clusters report fall below what is asked for less what the budget spares, nor further if they are below
 *    already. Of a whole that has one, one is left.
 * 2. While fewer are available than that, nothing is taken away, but as many as were asked for less, and what a cluster itself, or the deadline,
 *    has given up on; and of these only such as are not available.
 * 3. Of a lost cluster nothing is taken away that is asked for: it can neither be seen nor stopped.
 * 4. Repeated steps end: growing happens as soon as the budget allows it, shrinking never undoes it.
 * 5. What has nowhere to go is not taken away, whatever the budget.
 * 6. At most one, if asked for: nothing is started while what it replaces may run; a lost cluster's share not before its fence is up and its part says none.
 */
import { assignReplicas, type ReplicaAssignment } from "./goal.ts";
import {
  type ClusterShare,
  countedAgainstSurge,
  isFailed,
  isFrozen,
  isPastDeadline,
  isToBeDrained,
  maxAvailable,
  maxRunning,
  maxRunningAfterScaleToZero,
  minAvailable,
  moveRecordFor,
  type PlanInput,
  type PlanRequest,
  removableWithoutLoss,
  sumOf,
  unlimitedBudget,
} from "./members.ts";
import {
  type MoveEvent,
  type MoveState,
  mayGrow,
  mayShrink,
  moveTransitions,
  type PersistedMoveState,
} from "./move-machine.ts";
import type { MoveRecord } from "./move-record.ts";

export type { ClusterCopy, ClusterShare, PlanInput, RolloutBudget } from "./members.ts";

export interface Plan {
  /** By cluster: so many next, or `remove`. Clusters whose part stays away or is left alone are not in it. */
  readonly next: ReadonlyMap<string, number | "remove">;
  /** By cluster, where shares are ranges of numbers: the first of what is next. */
  readonly starts?: ReadonlyMap<string, number>;
  /** Where it leads. */
  readonly goal: ReadonlyMap<string, number>;
  /** What has no place in any cluster. */
  readonly unplaced: number;
  /** What is still to be taken away, once it is replaced. */
  readonly surplus: number;
  /** What is wanted and may not be started yet. */
  readonly deferred: number;
  readonly states: ReadonlyMap<string, MoveState>;
  /** What the parts should remember. */
  readonly records: ReadonlyMap<string, MoveRecord>;
  /** When a deadline passes. */
  readonly wakeAtMs: number | undefined;
  /** Why some has no place, where it is not for what the clusters are. */
  readonly obstacle?: string | undefined;
}

/** Of a plan that keeps no records: its steps have neither a budget nor a deadline. */
export const withoutMoveRecords: Pick<Plan, "deferred" | "states" | "records" | "wakeAtMs"> = {
  deferred: 0,
  states: new Map(),
  records: new Map(),
  wakeAtMs: undefined,
};

export function planMoves(input: PlanInput): Plan {
  const { replicas, members } = input;
  const view = viewOf(input);
  const { goal, unplaced } = view;
  const next = new Map<string, number | "remove">();
  const states = new Map<string, MoveState>();
  const available = sumOf(members, minAvailable);
  const isEnough = available >= view.floor;
  const purse = { isEnough, available, toForgo: input.scaledDownBy };
  let surplus = 0;
  for (const member of inShrinkingOrder(members, view)) {
    const { name, part } = member;
    const wanted = goal.get(name) ?? 0;
    const superfluous = Math.max(0, (part?.replicas ?? 0) - wanted);
    const cut = part === undefined ? 0 : scaleDownAllowance(view, purse, member, superfluous);
    const state = moveTransitions[previousOf(view, member)][eventOf(view, member, cut)];
    states.set(name, state);
    const more = mayGrow[state] ? (view.growth.get(name) ?? 0) : 0;
    if (part === undefined) {
      if (more > 0) next.set(name, more);
      continue;
    }
    if (part.isGoing || part.isPinned) continue;
    if (isFrozen(view, member)) {
      next.set(name, Math.min(part.replicas, replicas));
      continue;
    }
    const taken = mayShrink[state] ? cut : 0;
    if (taken > 0) spend(purse, member, taken);
    surplus += superfluous - taken;
    const left = part.replicas - taken + more;
    next.set(name, left === 0 && isRemoved(view, member, state) ? "remove" : left);
  }
  if (view.budget.isExclusive) lowerFrozen(view, next);
  const deferred = sumOf(members, (one) => deficitOf(view, one)) - sumOf([...view.growth.values()]);
  const isSettled = surplus === 0 && deferred <= 0;
  return {
    next,
    goal,
    unplaced,
    surplus,
    deferred: Math.max(0, deferred),
    states,
    ...recordMoves(view, next, states, isSettled),
  };
}

/** At most one: what a lost cluster may run when it is back is what is left beside the others, also when fewer are asked for meanwhile. */
function lowerFrozen(view: PlanView, next: Map<string, number | "remove">): void {
  const { members, replicas } = view.input;
  const [frozen, others] = [true, false].map((is) =>
    members.filter((one) => one.part !== undefined && isFrozen(view, one) === is),
  ) as [ClusterShare[], ClusterShare[]];
  const shareOf = ({ name, part }: ClusterShare) => {
    // What is being removed is not started again, wherever that is.
    if (part?.isGoing === true) return 0;
    const share = next.get(name) ?? part?.replicas ?? 0;
    return share === "remove" ? 0 : share;
  };
  let left = replicas - sumOf(others, shareOf);
  for (const member of frozen) {
    const share = next.get(member.name);
    if (typeof share === "number") next.set(member.name, Math.max(0, Math.min(share, left)));
    left -= shareOf(member);
  }
}

/** All that the steps of one plan have in common. */
interface PlanView extends PlanRequest, ReplicaAssignment {
  readonly unplaced: number;
  /** So many stay available. */
  readonly floor: number;
  /** So many more each may have now. */
  readonly growth: ReadonlyMap<string, number>;
}

function viewOf(input: PlanInput): PlanView {
  const { replicas, placeable = replicas, budget = unlimitedBudget } = input;
  const { goal, givenUp } = assignReplicas({ input, budget });
  const placed = sumOf([...goal.values()]);
  const unplaced = Math.max(0, replicas - placed);
  // What may not be anywhere is waited for by nobody: what is replaced goes.
  const allowed = Math.min(replicas, placeable);
  const least = Math.max(Math.min(1, allowed), allowed - budget.unavailable);
  const spared = budget.isExclusive ? 0 : least;
  // What has nowhere to go stays; what has somewhere may go before it is there, as far as the budget spares it.
  const lacking = () => sumOf(input.members, (one) => deficitOf({ goal }, one));
  const floor = placed < allowed ? Math.max(spared, allowed - lacking()) : spared;
  const view = { input, budget, goal, givenUp, unplaced, floor };
  return { ...view, growth: growthOf(view) };
}

function eventOf(view: PlanView, member: ClusterShare, cut: number): MoveEvent {
  const { part, name } = member;
  const wanted = view.goal.get(name) ?? 0;
  if (part === undefined) {
    if (wanted === 0) return "unneeded";
    return view.growth.has(name) ? "started" : "deferred";
  }
  if (part.isGoing) return "replaced";
  if (isFrozen(view, member)) return "lost";
  if (part.isPinned) return "available";
  const isLate = isPastDeadline(view, member) && view.givenUp.has(name);
  if (isLate) return part.isHeld === true ? "held" : "expired";
  const isEmptied = part.replicas === 0 && wanted === 0 && isToBeDrained(member);
  if (isEmptied || cut > 0) return part.isHeld === true ? "held" : "replaced";
  if (part.replicas > wanted) return view.unplaced > 0 ? "nowhere" : "unwanted";
  if (part.replicas < wanted) return view.growth.has(name) ? "started" : "deferred";
  return minAvailable(member) < part.replicas ? "started" : "available";
}

function previousOf(view: PlanView, member: ClusterShare): PersistedMoveState {
  if (member.part === undefined) return "gone";
  const record = moveRecordFor(view, member);
  if (record === undefined) return "ready";
  return record.isRolledBack && view.givenUp.has(member.name) ? "rolledBack" : "starting";
}

/** How many of the superfluous may go now. */
function scaleDownAllowance(
  view: PlanView,
  purse: Readonly<AvailabilityBudget>,
  member: ClusterShare,
  superfluous: number,
): number {
  const { part } = member;
  if (part === undefined || superfluous === 0) return 0;
  const { isEnough, available, toForgo } = purse;
  const idle = removableWithoutLoss(member, isEnough ? minAvailable(member) : maxAvailable(member));
  if (isEnough) return Math.min(superfluous, idle + available - view.floor);
  const isUseless = part.isStuck || view.givenUp.has(member.name);
  return Math.min(superfluous, isUseless ? idle : Math.min(idle, toForgo));
}

interface AvailabilityBudget {
  readonly isEnough: boolean;
  available: number;
  toForgo: number;
}

function spend(purse: AvailabilityBudget, member: ClusterShare, taken: number): void {
  const idle = removableWithoutLoss(member, minAvailable(member));
  if (purse.isEnough) purse.available -= Math.max(0, taken - idle);
  else if (member.part?.isStuck !== true) purse.toForgo = Math.max(0, purse.toForgo - taken);
}

function isRemoved(view: PlanView, member: ClusterShare, state: MoveState): boolean {
  const { name, standing, isLeaving, part } = member;
  if (!isToBeDrained(member) || !mayShrink[state] || part?.isHeld === true) return false;
  if ((view.goal.get(name) ?? 0) > 0) return false;
  if (!view.budget.isExclusive) return true;
  // What stopped because its cluster is lost stays as it is until the cluster is back.
  return maxRunningAfterScaleToZero(member) === 0 && (standing !== "lost" || isLeaving === true);
}

function deficitOf({ goal }: Pick<PlanView, "goal">, { name, part }: ClusterShare): number {
  if (part?.isGoing === true || part?.isPinned === true) return 0;
  return Math.max(0, (goal.get(name) ?? 0) - (part?.replicas ?? 0));
}

/** What may be started now: those that lack most first, as far as the budget goes. Members that get none are not in it. */
function growthOf(view: Omit<PlanView, "growth">): ReadonlyMap<string, number> {
  const { input, budget } = view;
  let left = budget.isExclusive
    ? input.replicas - sumOf(input.members, maxRunning)
    : input.replicas + budget.surge - sumOf(input.members, (one) => countedAgainstSurge(view, one));
  const growth = new Map<string, number>();
  const hungry: { readonly name: string; readonly lacks: number }[] = [];
  for (const member of input.members) {
    const lacks = deficitOf(view, member);
    if (lacks > 0) hungry.push({ name: member.name, lacks });
  }
  hungry.sort((a, b) => b.lacks - a.lacks || (a.name < b.name ? -1 : 1));
  for (const { name, lacks } of hungry) {
    const more = Math.min(left, lacks);
    if (more <= 0) break;
    growth.set(name, more);
    left -= more;
  }
  return growth;
}

/** Records for those who got more, and for as long as the move goes on; only deadlines need them. */
function recordMoves(
  view: PlanView,
  next: ReadonlyMap<string, number | "remove">,
  states: ReadonlyMap<string, MoveState>,
  isSettled: boolean,
): Pick<Plan, "records" | "wakeAtMs"> {
  const { input, budget } = view;
  const records = new Map<string, MoveRecord>();
  const { deadlineMs } = budget;
  if (deadlineMs === undefined) return { records, wakeAtMs: undefined };
  const { nowMs: sinceMs = 0, of = "", members } = input;
  const isDone = isSettled && members.every((one) => states.get(one.name) !== "starting");
  let wakeAtMs: number | undefined;
  for (const member of members) {
    const { name, part } = member;
    const wanted = next.get(name);
    if (typeof wanted !== "number") continue;
    const has = part?.replicas ?? 0;
    const known = moveRecordFor(view, member);
    const from = known?.from ?? has;
    if (view.givenUp.has(name)) {
      records.set(name, { from, sinceMs: known?.sinceMs ?? sinceMs, isRolledBack: true, of });
    } else if (wanted > has || (known === undefined && wanted < has)) {
      // What has failed once is not put to the test again: it grows because nothing else is left.
      records.set(name, { from, sinceMs, isRolledBack: isFailed(view, member), of });
    } else if (known !== undefined && !isDone) {
      records.set(name, { ...known, isRolledBack: isFailed(view, member) });
    }
    const record = records.get(name);
    if (record === undefined || record.isRolledBack || wanted <= record.from) continue;
    const endMs = record.sinceMs + deadlineMs;
    if (endMs > sinceMs) wakeAtMs = Math.min(wakeAtMs ?? endMs, endMs);
  }
  return { records, wakeAtMs };
}

/**
 * Those that are to be emptied first, then those that have most too much; the same order every time. Where some have nowhere to go, what is more than may be where it is goes before
 * these.
 */
function inShrinkingOrder(
  members: readonly ClusterShare[],
  { goal, unplaced }: Pick<PlanView, "goal" | "unplaced">,
): readonly ClusterShare[] {
  const hasNowhere = unplaced > 0;
  const ranked = members.map((member) => {
    const { name, part, kept = 0, room = Number.POSITIVE_INFINITY } = member;
    const replicas = part?.replicas ?? 0;
    const isEmptied = isToBeDrained(member);
    const isCrowded = hasNowhere && !isEmptied && replicas > room;
    const excess = replicas - (goal.get(name) ?? 0) - (hasNowhere ? kept : 0);
    return { member, rank: isCrowded ? 0 : isEmptied ? 1 : 2, excess };
  });
  ranked.sort(
    (a, b) => a.rank - b.rank || b.excess - a.excess || (a.member.name < b.member.name ? -1 : 1),
  );
  return ranked.map(({ member }) => member);
}
