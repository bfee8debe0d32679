/** A quota shared out among its clusters, as room of each: as replicas are, or one copy for each. Pure. */
import type { ReplicaLimit, SharedReplicaLimit } from "../scheduling/index.ts";
import type { EvaluatedCluster } from "./decide.ts";
import { distribute } from "./distribute.ts";
import { eligibleClusters } from "./goal.ts";
import { type ClusterShare, isToBeDrained, isUnreachable } from "./members.ts";
import { desiredReplicasIn, type PlacementRecord } from "./placement-history.ts";

export interface LimitDistribution {
  /** What was decided last. */
  readonly last: PlacementRecord | undefined;
  readonly isNumbered: boolean;
  /** It does not move for balance: what would be shared anew is not given up where it is. */
  readonly isStaying: boolean;
  /** Of every cluster that it may be in. */
  readonly isOfAll: boolean;
  readonly maxSkews: readonly number[];
}

/** As replicas are shared out. */
export function replicasWithin(
  places: readonly EvaluatedCluster[],
  { clusters }: SharedReplicaLimit,
  bound: ReplicaLimit,
  { isNumbered, isStaying, isOfAll, maxSkews }: Omit<LimitDistribution, "last">,
): readonly EvaluatedCluster[] {
  const open = eligibleClusters(places.map(({ member }) => member));
  const shares = places
    .filter(({ name }) => clusters.has(name))
    .map(({ name, member }) => {
      const { weight, capacity, domains, part, room = Number.POSITIVE_INFINITY } = member;
      const current = part?.replicas ?? 0;
      // Of numbers, nobody else has what a lost cluster has.
      const isOutThere = isNumbered && isUnreachable(member) && current > 0;
      const own = isStaying ? Math.max(room, current) : room;
      return {
        ...{ name, weight, domains },
        capacity: isStaying && current > 0 ? undefined : capacity,
        ready: isOutThere || !isToBeDrained(member),
        cordoned: !open.has(member),
        // Where something else is short of room, what was started elsewhere for balance would be left beside what is here.
        keeps: isStaying || !isOfAll || (member.standing === "cordoned" && part?.wasLost !== true),
        room: own,
        current,
      };
    });
  const shared = distribute(bound.replicas, shares, maxSkews);
  return places.map((place) => bounded(place, shared.get(place.name), bound));
}

/** What is there goes first, and of that what was decided: what is more than may be there is so because it was to go elsewhere, and does. */
export function copiesWithin(
  places: readonly EvaluatedCluster[],
  { clusters }: SharedReplicaLimit,
  bound: ReplicaLimit,
  { last, maxSkews }: Pick<LimitDistribution, "last" | "maxSkews">,
): readonly EvaluatedCluster[] {
  const inside = places.filter(({ name, member }) => clusters.has(name) && retainsCopy(member));
  const isDecided = (name: string) =>
    last !== undefined && desiredReplicasIn(last, (one) => one === name) > 0;
  const rank = ({ name, member }: EvaluatedCluster) =>
    isUnreachable(member) ? 0 : isDecided(name) ? 1 : 2;
  const there = inside.filter(({ member }) => member.part !== undefined);
  const ranked = there.sort(
    (one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1),
  );
  const kept = new Set(ranked.slice(0, bound.replicas).map(({ name }) => name));
  const beyond = ranked.slice(bound.replicas).filter(({ member }) => !isUnreachable(member));
  const surplus = new Set(beyond.map(({ name }) => name));
  const open = eligibleClusters(inside.map(({ member }) => member));
  const shares = inside
    .filter(({ member }) => member.part === undefined)
    .map(({ name, member }) => {
      const { weight, capacity, domains, room = Number.POSITIVE_INFINITY } = member;
      const most = Math.min(1, room);
      return { name, weight, capacity, domains, ready: open.has(member), room: most, current: 0 };
    });
  const shared = distribute(bound.replicas - kept.size, shares, maxSkews);
  return places.map((place) => {
    const { name } = place;
    if (surplus.has(name)) return withState(place, "leaving");
    if (!clusters.has(name) || kept.has(name)) return place;
    return bounded(place, shared.get(name) ?? 0, bound);
  });
}

/** It has what it has, and is not about to give it up. */
export function retainsCopy(member: ClusterShare): boolean {
  return member.part?.isGoing !== true && (!isToBeDrained(member) || isUnreachable(member));
}

function bounded(
  place: EvaluatedCluster,
  share: number | undefined,
  { because }: ReplicaLimit,
): EvaluatedCluster {
  const { member, prospect } = place;
  const { room = Number.POSITIVE_INFINITY } = member;
  if (share === undefined || share >= room) return place;
  return {
    ...place,
    member: { ...member, room: share },
    prospect: prospect && { ...prospect, room: { replicas: share, because } },
  };
}

export function withState(
  place: EvaluatedCluster,
  standing: ClusterShare["standing"],
): EvaluatedCluster {
  return { ...place, member: { ...place.member, standing } };
}
