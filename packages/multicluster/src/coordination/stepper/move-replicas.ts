/**
 * Moves of counted replicas. StartBeforeStop: a replica starts in its new cluster first, and its
 * old cluster scales down only as far as enough replicas stay available.
 *
 * Invariants:
 *
 * 1. No step lets the available replicas that clusters report fall below the requested replicas
 *    less maxUnavailable, nor further if they are below already. A workload that has a replica
 *    keeps one.
 * 2. While fewer replicas are available than that, steps remove only replicas that a scale-down
 *    released, that failed the progress deadline of their cluster or of the move, or that leave a
 *    Draining cluster and whose replacements have started; and of these only unavailable ones.
 * 3. No step removes requested replicas from an Unreachable cluster: they can be neither observed
 *    nor stopped.
 * 4. Repeated steps end: scale-ups happen as soon as the limits permit them, and no scale-down
 *    reverts them.
 * 5. Replicas without a feasible cluster stay, whatever the limits.
 * 6. With StopBeforeStart, no replica starts while the replica that it replaces may run; replicas
 *    of an Unreachable cluster start elsewhere only after fencing, when its copy says 0 replicas.
 */
import { assignReplicas, type ReplicaAssignment } from "./assign-replicas.ts";
import { AvailabilityBudget } from "./availability-budget.ts";
import {
  type ClusterShare,
  countedAgainstSurge,
  isFrozen,
  isToBeDrained,
  maxAvailable,
  maxRunning,
  maxRunningAfterScaleToZero,
  minAvailable,
  type PlanInput,
  type PlanRequest,
  removableWithoutLoss,
  sumOf,
  unlimitedBudget,
} from "./cluster-share.ts";
import type { ProposedStep } from "./plan.ts";

export function moveReplicas(input: PlanInput): ProposedStep {
  const { clusters } = input;
  const view = viewOf(input);
  const { replicas: goal, unscheduled, rolledBack } = view;
  const next = new Map<string, number | "remove">();
  const available = new AvailabilityBudget(sumOf(clusters, minAvailable), view.floor);
  const spending = { available, isEnough: available.spare >= 0, scaledDownBy: input.scaledDownBy };
  let surplus = 0;
  for (const share of inShrinkingOrder(clusters, view)) {
    const { name, copy } = share;
    const more = view.growth.get(name) ?? 0;
    if (copy === undefined) {
      if (more > 0) next.set(name, more);
      continue;
    }
    if (copy.isDeleting || copy.isUnmanaged) continue;
    if (isFrozen(view, share)) {
      next.set(name, copy.replicas);
      continue;
    }
    const superfluous = Math.max(0, copy.replicas - (goal.get(name) ?? 0));
    const cut = scaleDownAllowance(view, spending, share, superfluous);
    // Replicas that soft finalizers block stop later: others may stop in their place.
    const taken = copy.isDisruptionBlocked === true ? 0 : cut;
    if (taken > 0) spend(view, spending, share, taken);
    surplus += superfluous - taken;
    const left = copy.replicas - cut + more;
    next.set(name, left === 0 && isRemoved(view, share) ? "remove" : left);
  }
  const deferred =
    sumOf(clusters, (one) => deficitOf(view, one)) - sumOf([...view.growth.values()]);
  return {
    next,
    goal,
    unscheduled,
    surplus,
    deferred: Math.max(0, deferred),
    deferredReason: view.budget.isStopBeforeStart ? "WaitingForTermination" : "SurgeLimited",
    rolledBack,
  };
}

/**
 * The copy in an Unreachable cluster has no more replicas than are requested when the cluster is
 * back. StopBeforeStart: it may run only the replicas that the other clusters do not have, also
 * after a scale-down meanwhile.
 */
export function lowerFrozen(request: PlanRequest, next: Map<string, number | "remove">): void {
  const { clusters, replicas } = request.input;
  const [frozen, others] = [true, false].map((is) =>
    clusters.filter((one) => one.copy !== undefined && isFrozen(request, one) === is),
  ) as [ClusterShare[], ClusterShare[]];
  const shareOf = ({ name, copy }: ClusterShare) => {
    // A copy that is being removed does not start again, in any cluster.
    if (copy?.isDeleting === true) return 0;
    const share = next.get(name) ?? copy?.replicas ?? 0;
    return share === "remove" ? 0 : share;
  };
  const { isStopBeforeStart } = request.budget;
  let left = isStopBeforeStart ? replicas - sumOf(others, shareOf) : replicas;
  for (const member of frozen) {
    const share = next.get(member.name);
    if (typeof share === "number") next.set(member.name, Math.max(0, Math.min(share, left)));
    if (isStopBeforeStart) left -= shareOf(member);
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

/** How many surplus replicas of the cluster may stop in this step. */
function scaleDownAllowance(
  view: PlanView,
  budget: Readonly<ScaleDownBudget>,
  share: ClusterShare,
  superfluous: number,
): number {
  const { copy } = share;
  if (copy === undefined || superfluous === 0) return 0;
  const { isEnough, available, scaledDownBy } = budget;
  const idle = removableWithoutLoss(share, isEnough ? minAvailable(share) : maxAvailable(share));
  if (isEnough) return Math.min(superfluous, idle + available.spare);
  return Math.min(superfluous, isDispensable(view, share) ? idle : Math.min(idle, scaledDownBy));
}

/** Whether the unavailable replicas of the cluster are not waited for. */
function isDispensable(view: PlanView, share: ClusterShare): boolean {
  if (share.copy?.isStuck === true || view.rolledBack.has(share.name)) return true;
  if (share.state !== "Draining" || view.unscheduled > 0) return false;
  return view.input.clusters.every((one) => deficitOf(view, one) === 0);
}

interface ScaleDownBudget {
  readonly available: AvailabilityBudget;
  readonly isEnough: boolean;
  scaledDownBy: number;
}

function spend(view: PlanView, budget: ScaleDownBudget, share: ClusterShare, taken: number): void {
  const idle = removableWithoutLoss(share, minAvailable(share));
  if (budget.isEnough) budget.available.spend(Math.max(0, taken - idle));
  else if (!isDispensable(view, share))
    budget.scaledDownBy = Math.max(0, budget.scaledDownBy - taken);
}

function isRemoved(view: PlanView, share: ClusterShare): boolean {
  const { name, state, isDraining, copy } = share;
  if (!isToBeDrained(share) || copy?.isDisruptionBlocked === true) return false;
  if ((view.replicas.get(name) ?? 0) > 0) return false;
  if (!view.budget.isStopBeforeStart) return true;
  // A copy that stopped because its cluster is Unreachable stays unchanged until the cluster is
  // back.
  return (
    maxRunningAfterScaleToZero(share) === 0 && (state !== "Unreachable" || isDraining === true)
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
