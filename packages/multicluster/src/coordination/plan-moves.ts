/**
 * The next step from the current assignment to the desired assignment. StartBeforeStop: a replica
 * starts in its new cluster first, and its old cluster scales down only as far as enough replicas
 * stay available.
 *
 * Pure and without state: called again with the result of a step, it returns the next step, until
 * none is left. So a move may be interrupted at any step; a change in between (a cluster fails,
 * another registers, a user scales) only changes the desired assignment. `move-machine.ts` defines
 * the state of a copy, and thereby whether it may scale up or down; the rolling update limits
 * define by how much at a time.
 *
 * Invariants:
 *
 * 1. No step lets the available replicas that clusters report fall below the requested replicas
 *    less maxUnavailable, nor further if they are below already. A workload that has a replica
 *    keeps one.
 * 2. While fewer replicas are available than that, steps remove only replicas that a scale-down
 *    released, or that failed the progress deadline of their cluster or of the move; and of these
 *    only unavailable ones.
 * 3. No step removes requested replicas from an Unreachable cluster: they can be neither observed
 *    nor stopped.
 * 4. Repeated steps end: scale-ups happen as soon as the limits permit them, and no scale-down
 *    reverts them.
 * 5. Replicas without a feasible cluster stay, whatever the limits.
 * 6. With StopBeforeStart, no replica starts while the replica that it replaces may run; replicas
 *    of an Unreachable cluster start elsewhere only after fencing, when its copy says 0 replicas.
 */
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
} from "./cluster-share.ts";
import {
  type MoveEvent,
  type MoveState,
  mayGrow,
  mayShrink,
  moveTransitions,
  type PersistedMoveState,
} from "./move-machine.ts";
import type { MoveRecord } from "./move-record.ts";
import { assignReplicas, type ReplicaAssignment } from "./replica-assignment.ts";

export type { ClusterCopy, ClusterShare, PlanInput, RolloutBudget } from "./cluster-share.ts";

export interface Plan {
  /**
   * The next replicas by cluster, or `remove`. Clusters whose copy stays absent or unchanged are
   * omitted.
   */
  readonly next: ReadonlyMap<string, number | "remove">;
  /** For ordinal ranges: the first ordinal of the next range, by cluster. */
  readonly starts?: ReadonlyMap<string, number>;
  /** The desired assignment that the steps lead to. */
  readonly goal: ReadonlyMap<string, number>;
  /** Replicas without a feasible cluster. */
  readonly unscheduled: number;
  /** Replicas that are removed after they are replaced. */
  readonly surplus: number;
  /** Desired replicas that the limits do not permit to start yet. */
  readonly deferred: number;
  /** What it waits for. */
  readonly deferredReason?: "SurgeLimited" | "WaitingForVolumes" | "WaitingForTermination";
  readonly states: ReadonlyMap<string, MoveState>;
  /** The move records to write on the per-cluster objects. */
  readonly records: ReadonlyMap<string, MoveRecord>;
  /** The time of the next deadline. */
  readonly requeueAtMs: number | undefined;
  /** The reason why some replicas are unschedulable, if the cluster states do not explain it. */
  readonly unschedulableReason?: string | undefined;
}

/** The fields of a plan without move records: its steps have neither limits nor deadlines. */
export const withoutMoveRecords: Pick<Plan, "deferred" | "states" | "records" | "requeueAtMs"> = {
  deferred: 0,
  states: new Map(),
  records: new Map(),
  requeueAtMs: undefined,
};

export function planMoves(input: PlanInput): Plan {
  const { replicas, clusters } = input;
  const view = viewOf(input);
  const { replicas: goal, unscheduled } = view;
  const next = new Map<string, number | "remove">();
  const states = new Map<string, MoveState>();
  const available = sumOf(clusters, minAvailable);
  const isEnough = available >= view.floor;
  const budget = { isEnough, available, scaledDownBy: input.scaledDownBy };
  let surplus = 0;
  for (const share of inShrinkingOrder(clusters, view)) {
    const { name, copy } = share;
    const wanted = goal.get(name) ?? 0;
    const superfluous = Math.max(0, (copy?.replicas ?? 0) - wanted);
    const cut = copy === undefined ? 0 : scaleDownAllowance(view, budget, share, superfluous);
    const state = moveTransitions[previousOf(view, share)][eventOf(view, share, cut)];
    states.set(name, state);
    const more = mayGrow[state] ? (view.growth.get(name) ?? 0) : 0;
    if (copy === undefined) {
      if (more > 0) next.set(name, more);
      continue;
    }
    if (copy.isDeleting || copy.isUnmanaged) continue;
    if (isFrozen(view, share)) {
      next.set(name, Math.min(copy.replicas, replicas));
      continue;
    }
    const taken = mayShrink[state] ? cut : 0;
    if (taken > 0) spend(budget, share, taken);
    surplus += superfluous - taken;
    const left = copy.replicas - taken + more;
    next.set(name, left === 0 && isRemoved(view, share, state) ? "remove" : left);
  }
  if (view.budget.isStopBeforeStart) lowerFrozen(view, next);
  const deferred =
    sumOf(clusters, (one) => deficitOf(view, one)) - sumOf([...view.growth.values()]);
  const isSettled = surplus === 0 && deferred <= 0;
  return {
    next,
    goal,
    unscheduled,
    surplus,
    deferred: Math.max(0, deferred),
    deferredReason: view.budget.isStopBeforeStart ? "WaitingForTermination" : "SurgeLimited",
    states,
    ...recordMoves(view, next, states, isSettled),
  };
}

/**
 * StopBeforeStart: an Unreachable cluster may run only the replicas that the other clusters do not
 * have when it is back, also after a scale-down meanwhile.
 */
function lowerFrozen(view: PlanView, next: Map<string, number | "remove">): void {
  const { clusters, replicas } = view.input;
  const [frozen, others] = [true, false].map((is) =>
    clusters.filter((one) => one.copy !== undefined && isFrozen(view, one) === is),
  ) as [ClusterShare[], ClusterShare[]];
  const shareOf = ({ name, copy }: ClusterShare) => {
    // A copy that is being removed does not start again, in any cluster.
    if (copy?.isDeleting === true) return 0;
    const share = next.get(name) ?? copy?.replicas ?? 0;
    return share === "remove" ? 0 : share;
  };
  let left = replicas - sumOf(others, shareOf);
  for (const member of frozen) {
    const share = next.get(member.name);
    if (typeof share === "number") next.set(member.name, Math.max(0, Math.min(share, left)));
    left -= shareOf(member);
  }
}

/** The inputs that all steps of one plan have in common. */
interface PlanView extends PlanRequest, ReplicaAssignment {
  readonly unscheduled: number;
  /** The least number of replicas that stay available. */
  readonly floor: number;
  /** The replicas that each cluster may add in this step. */
  readonly growth: ReadonlyMap<string, number>;
}

function viewOf(input: PlanInput): PlanView {
  const { replicas, maxTotal = replicas, budget = unlimitedBudget } = input;
  const { replicas: goal, rolledBack } = assignReplicas({ input, budget });
  const placed = sumOf([...goal.values()]);
  const unscheduled = Math.max(0, replicas - placed);
  // Replicas above the limit cannot start anywhere, so the replicas that they would replace do not
  // wait for them.
  const allowed = Math.min(replicas, maxTotal);
  const least = Math.max(Math.min(1, allowed), allowed - budget.unavailable);
  const spared = budget.isStopBeforeStart ? 0 : least;
  // Replicas without a feasible cluster stay; the others may stop before their replacement is
  // available, within maxUnavailable.
  const lacking = () => sumOf(input.clusters, (one) => deficitOf({ replicas: goal }, one));
  const floor = placed < allowed ? Math.max(spared, allowed - lacking()) : spared;
  const view = { input, budget, replicas: goal, rolledBack, unscheduled, floor };
  return { ...view, growth: growthOf(view) };
}

function eventOf(view: PlanView, share: ClusterShare, cut: number): MoveEvent {
  const { copy, name } = share;
  const wanted = view.replicas.get(name) ?? 0;
  if (copy === undefined) {
    if (wanted === 0) return "unneeded";
    return view.growth.has(name) ? "started" : "deferred";
  }
  if (copy.isDeleting) return "replaced";
  if (isFrozen(view, share)) return "unreachable";
  if (copy.isUnmanaged) return "available";
  const isLate = isPastDeadline(view, share) && view.rolledBack.has(name);
  if (isLate) return copy.isDisruptionBlocked === true ? "disruptionBlocked" : "expired";
  const isEmptied = copy.replicas === 0 && wanted === 0 && isToBeDrained(share);
  if (isEmptied || cut > 0)
    return copy.isDisruptionBlocked === true ? "disruptionBlocked" : "replaced";
  if (copy.replicas > wanted) return view.unscheduled > 0 ? "nowhere" : "unwanted";
  if (copy.replicas < wanted) return view.growth.has(name) ? "started" : "deferred";
  return minAvailable(share) < copy.replicas ? "started" : "available";
}

function previousOf(view: PlanView, share: ClusterShare): PersistedMoveState {
  if (share.copy === undefined) return "absent";
  const record = moveRecordFor(view, share);
  if (record === undefined) return "ready";
  return record.isRolledBack && view.rolledBack.has(share.name) ? "rolledBack" : "starting";
}

/** How many surplus replicas of the cluster may stop in this step. */
function scaleDownAllowance(
  view: PlanView,
  budget: Readonly<AvailabilityBudget>,
  share: ClusterShare,
  superfluous: number,
): number {
  const { copy } = share;
  if (copy === undefined || superfluous === 0) return 0;
  const { isEnough, available, scaledDownBy } = budget;
  const idle = removableWithoutLoss(share, isEnough ? minAvailable(share) : maxAvailable(share));
  if (isEnough) return Math.min(superfluous, idle + available - view.floor);
  const isUseless = copy.isStuck || view.rolledBack.has(share.name);
  return Math.min(superfluous, isUseless ? idle : Math.min(idle, scaledDownBy));
}

interface AvailabilityBudget {
  readonly isEnough: boolean;
  available: number;
  scaledDownBy: number;
}

function spend(availabilityBudget: AvailabilityBudget, share: ClusterShare, taken: number): void {
  const idle = removableWithoutLoss(share, minAvailable(share));
  if (availabilityBudget.isEnough) availabilityBudget.available -= Math.max(0, taken - idle);
  else if (share.copy?.isStuck !== true)
    availabilityBudget.scaledDownBy = Math.max(0, availabilityBudget.scaledDownBy - taken);
}

function isRemoved(view: PlanView, share: ClusterShare, state: MoveState): boolean {
  const { name, state: clusterState, isDraining, copy } = share;
  if (!isToBeDrained(share) || !mayShrink[state] || copy?.isDisruptionBlocked === true)
    return false;
  if ((view.replicas.get(name) ?? 0) > 0) return false;
  if (!view.budget.isStopBeforeStart) return true;
  // A copy that stopped because its cluster is Unreachable stays unchanged until the cluster is
  // back.
  return (
    maxRunningAfterScaleToZero(share) === 0 &&
    (clusterState !== "Unreachable" || isDraining === true)
  );
}

function deficitOf({ replicas }: Pick<PlanView, "replicas">, { name, copy }: ClusterShare): number {
  if (copy?.isDeleting === true || copy?.isUnmanaged === true) return 0;
  return Math.max(0, (replicas.get(name) ?? 0) - (copy?.replicas ?? 0));
}

/**
 * The scale-ups of this step: the largest deficits first, within the surge limit. Clusters that get
 * no replicas are omitted.
 */
function growthOf(view: Omit<PlanView, "growth">): ReadonlyMap<string, number> {
  const { input, budget } = view;
  let left = budget.isStopBeforeStart
    ? input.replicas - sumOf(input.clusters, maxRunning)
    : input.replicas +
      budget.surge -
      sumOf(input.clusters, (one) => countedAgainstSurge(view, one));
  const growth = new Map<string, number>();
  const hungry: { readonly name: string; readonly lacks: number }[] = [];
  for (const share of input.clusters) {
    const lacks = deficitOf(view, share);
    if (lacks > 0) hungry.push({ name: share.name, lacks });
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

/**
 * Writes move records for clusters that scale up, for as long as the move is in flight; only
 * deadlines need records.
 */
function recordMoves(
  view: PlanView,
  next: ReadonlyMap<string, number | "remove">,
  states: ReadonlyMap<string, MoveState>,
  isSettled: boolean,
): Pick<Plan, "records" | "requeueAtMs"> {
  const { input, budget } = view;
  const records = new Map<string, MoveRecord>();
  const { deadlineMs } = budget;
  if (deadlineMs === undefined) return { records, requeueAtMs: undefined };
  const { nowMs: sinceMs = 0, requestHash: request = "", clusters } = input;
  const isDone = isSettled && clusters.every((one) => states.get(one.name) !== "starting");
  let requeueAtMs: number | undefined;
  for (const share of clusters) {
    const { name, copy } = share;
    const wanted = next.get(name);
    if (typeof wanted !== "number") continue;
    const has = copy?.replicas ?? 0;
    const known = moveRecordFor(view, share);
    const from = known?.from ?? has;
    if (view.rolledBack.has(name)) {
      records.set(name, { from, sinceMs: known?.sinceMs ?? sinceMs, isRolledBack: true, request });
    } else if (wanted > has || (known === undefined && wanted < has)) {
      // A cluster that failed once is not tested again: it scales up because no other cluster is
      // left.
      records.set(name, { from, sinceMs, isRolledBack: isFailed(view, share), request });
    } else if (known !== undefined && !isDone) {
      records.set(name, { ...known, isRolledBack: isFailed(view, share) });
    }
    const record = records.get(name);
    if (record === undefined || record.isRolledBack || wanted <= record.from) continue;
    const endMs = record.sinceMs + deadlineMs;
    if (endMs > sinceMs) requeueAtMs = Math.min(requeueAtMs ?? endMs, endMs);
  }
  return { records, requeueAtMs };
}

/**
 * Draining clusters first, then the largest surplus; the order is deterministic. When some replicas
 * have no feasible cluster, replicas above a cluster's limit stop before these.
 */
function inShrinkingOrder(
  shares: readonly ClusterShare[],
  { replicas: goal, unscheduled }: Pick<PlanView, "replicas" | "unscheduled">,
): readonly ClusterShare[] {
  const hasNowhere = unscheduled > 0;
  const ranked = shares.map((member) => {
    const { name, copy, retained = 0, maxReplicas = Number.POSITIVE_INFINITY } = member;
    const replicas = copy?.replicas ?? 0;
    const isEmptied = isToBeDrained(member);
    const isCrowded = hasNowhere && !isEmptied && replicas > maxReplicas;
    const excess = replicas - (goal.get(name) ?? 0) - (hasNowhere ? retained : 0);
    return { member, rank: isCrowded ? 0 : isEmptied ? 1 : 2, excess };
  });
  ranked.sort(
    (a, b) => a.rank - b.rank || b.excess - a.excess || (a.member.name < b.member.name ? -1 : 1),
  );
  return ranked.map(({ member }) => member);
}
