/**
 * What a workspace may use of some clusters together, as room in each of them. A quota is shared out among its clusters as replicas would be, so that
 * whoever plans keeps to it by keeping to the room of each cluster.
 *
 * The quotas of fewer clusters come first: one within another is then kept, and both are used up. Of two that have some clusters in common and others
 * not, what they hold may be less than it could.
 *
 * Bounds that are lowered stop nothing: what is there has its room, whether it runs at the moment or not, as far as it was meant to be there; so has what is on its way from one
 * cluster to another. What is there twice because it moves was not meant to be: the last decision says how many there were to be. What has nowhere to go stays where it is, and has no room elsewhere for that.
 */
import {
  type CurrentReplicas,
  type InFlightByCluster,
  type ReplicaLimit,
  readInFlight,
  type SchedulingResult,
  type SharedReplicaLimit,
} from "../scheduling/index.ts";
import type { DecideInput, EvaluatedCluster } from "./decide.ts";
import { isToBeDrained, isUnreachable } from "./members.ts";
import type { Placement } from "./placement.ts";
import {
  desiredReplicasIn,
  type PlacementRecord,
  readPlacementHistory,
  shareIn,
} from "./placement-history.ts";
import { copiesWithin, replicasWithin, retainsCopy, withState } from "./quota-shares.ts";

export interface LimitedClusters {
  readonly places: readonly EvaluatedCluster[];
  /** How many there may be in all clusters together, where a quota says so. */
  readonly total: ReplicaLimit | undefined;
}

type Subject = Pick<DecideInput, "strategy" | "parent">;

export function withinSharedLimits(
  places: readonly EvaluatedCluster[],
  assessment: Pick<SchedulingResult, "quotas" | "maxSkews">,
  subject: Subject,
  placement: Placement | undefined,
): LimitedClusters {
  if (assessment.quotas.length === 0) return { places, total: undefined };
  if (placement?.rollout.paused !== true) return limitedBy(places, assessment, subject, placement);
  // What is to leave stays while moves are paused, and has its room.
  const isLeaving = ({ member }: EvaluatedCluster) => member.standing === "leaving";
  const staying = places.map((one) => (isLeaving(one) ? withState(one, "cordoned") : one));
  const bounded = limitedBy(staying, assessment, subject, placement);
  const found = bounded.places.map((one, index) => {
    const before = places[index];
    return before !== undefined && isLeaving(before) ? withState(one, "leaving") : one;
  });
  return { ...bounded, places: found };
}

function limitedBy(
  places: readonly EvaluatedCluster[],
  { quotas, maxSkews }: Pick<SchedulingResult, "quotas" | "maxSkews">,
  subject: Subject,
  placement: Placement | undefined,
): LimitedClusters {
  const { strategy, parent } = subject;
  const { annotations } = parent.metadata;
  const [last] = readPlacementHistory(annotations);
  const underWay = readInFlight(annotations);
  const isCopied = strategy.sharing === "duplicate";
  const isNumbered = strategy.sharing === "ordinal";
  const { failover, rollout } = placement ?? {};
  const isStaying = isNumbered || failover?.atMostOne === true || rollout?.paused === true;
  const wanted = isCopied ? places.length : strategy.asked(parent);
  let bounded = places;
  let total: ReplicaLimit | undefined;
  for (const quota of [...quotas].sort(bySize)) {
    const bound = quota.boundWith(presentIn(quota, places, { isCopied, underWay, last }));
    // What may have all of it is in nobody's way.
    if (bound === undefined || bound.replicas >= wanted) continue;
    const isOfAll = places.every((one) => isExcluded(one) || quota.clusters.has(one.name));
    if (isOfAll && (total === undefined || bound.replicas < total.replicas)) total = bound;
    bounded = isCopied
      ? copiesWithin(bounded, quota, bound, { last, maxSkews })
      : replicasWithin(bounded, quota, bound, { isNumbered, isStaying, isOfAll, maxSkews });
  }
  const meant = desiredIn(places, { underWay, last });
  return { places: bounded, total: total && atLeast(total, meant) };
}

/** What is there and was meant to be, wherever: while it has nowhere to go it stays. */
function desiredIn(
  places: readonly EvaluatedCluster[],
  { underWay, last }: Omit<PreviousPlacement, "isCopied">,
): number {
  const there = thereIn(places, underWay);
  return last === undefined ? there : Math.min(there, desiredReplicasIn(last));
}

function atLeast({ replicas, because }: ReplicaLimit, least: number): ReplicaLimit {
  return { replicas: Math.max(replicas, least), because };
}

function bySize(one: SharedReplicaLimit, other: SharedReplicaLimit): number {
  return one.clusters.size - other.clusters.size;
}

/** Nothing is to be there. */
function isExcluded({ prospect, member }: EvaluatedCluster): boolean {
  return prospect === undefined || prospect.expelled.length > 0 || isToBeDrained(member);
}

/** In some clusters, or in all of them: what they have, and what is on its way there. */
function thereIn(
  places: readonly EvaluatedCluster[],
  underWay: InFlightByCluster,
  clusters?: ReadonlySet<string>,
): number {
  let replicas = 0;
  for (const { name, member } of places)
    if (clusters?.has(name) !== false)
      replicas += (member.part?.replicas ?? 0) + (underWay.get(name)?.replicas ?? 0);
  return replicas;
}

interface PreviousPlacement {
  readonly isCopied: boolean;
  readonly underWay: InFlightByCluster;
  readonly last: PlacementRecord | undefined;
}

function presentIn(
  { clusters }: SharedReplicaLimit,
  places: readonly EvaluatedCluster[],
  { isCopied, underWay, last }: PreviousPlacement,
): CurrentReplicas {
  const replicas = thereIn(places, underWay, clusters);
  // Before the first decision is on it, all that is there was decided.
  if (last === undefined) return { replicas, available: replicas };
  const { kept = {}, ...goal } = last;
  let decided = desiredReplicasIn(goal, (name) => clusters.has(name));
  // What had nowhere to go is where it may be again; and a copy stays in a lost cluster.
  const stays = ({ name, member }: EvaluatedCluster) =>
    clusters.has(name) && retainsCopy(member) && (isCopied || !isUnreachable(member));
  for (const { name, member } of places.filter(stays))
    decided += Math.min(shareIn(kept, name), member.part?.replicas ?? 0);
  return { replicas, available: Math.min(replicas, decided) };
}
