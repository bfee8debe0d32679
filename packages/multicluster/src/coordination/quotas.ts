/**
 * What a workspace may use of some clusters together, as room in each of them. A quota is shared out among its clusters as replicas would be, so that
 * whoever plans keeps to it by keeping to the room of each cluster.
 *
 * The quotas of fewer clusters come first: one within another is then kept, and both are used up. Of two that have some clusters in common and others
 * not, what they hold may be less than it could.
 *
 * Bounds that are lowered stop nothing: what is there has its room, whether it runs at the moment or not, as far as it was meant to be there. What is there twice because it moves was
 * not: the last decision says how many there were to be. What has nowhere to go stays where it is, and has no room elsewhere for that.
 */
import type { Assessment, Bound, Presence, Quota } from "../scheduling/index.ts";
import type { DecideInput, Place } from "./decide.ts";
import { distribute } from "./distribute.ts";
import { receivers } from "./goal.ts";
import { isLeftAlone, isToBeEmptied } from "./members.ts";
import { meantBy, type PlacementRecord, readPlacementHistory } from "./placement-history.ts";

export interface Bounded {
  readonly places: readonly Place[];
  /** How many there may be in all clusters together, where a quota says so. */
  readonly total: Bound | undefined;
}

type Subject = Pick<DecideInput, "strategy" | "parent">;

export function withinQuotas(
  places: readonly Place[],
  { quotas, maxSkews }: Pick<Assessment, "quotas" | "maxSkews">,
  subject: Subject,
): Bounded {
  if (quotas.length === 0) return { places, total: undefined };
  const { strategy, parent } = subject;
  const [last] = readPlacementHistory(parent.metadata.annotations);
  const isCopied = strategy.sharing === "duplicate";
  const isStaying = isCopied || strategy.sharing === "ordinal";
  const wanted = isCopied ? places.length : strategy.asked(parent);
  let bounded = places;
  let total: Bound | undefined;
  for (const quota of [...quotas].sort(bySize)) {
    const bound = quota.boundWith(presentIn(quota, places, last));
    // What may have all of it is in nobody's way.
    if (bound === undefined || bound.replicas >= wanted) continue;
    const isOfAll = places.every((one) => isExcluded(one) || quota.clusters.has(one.name));
    if (isOfAll && (total === undefined || bound.replicas < total.replicas)) total = bound;
    bounded = within(bounded, quota, bound, { isCopied, isStaying, isOfAll, maxSkews });
  }
  return { places: bounded, total: total && atLeast(total, meantIn(places, last)) };
}

/** What is there and was meant to be, wherever: while it has nowhere to go it stays. */
function meantIn(places: readonly Place[], last: PlacementRecord | undefined): number {
  const there = places.reduce((sum, { member }) => sum + (member.part?.replicas ?? 0), 0);
  return last === undefined ? there : Math.min(there, meantBy(last));
}

function atLeast({ replicas, because }: Bound, least: number): Bound {
  return { replicas: Math.max(replicas, least), because };
}

function bySize(one: Quota, other: Quota): number {
  return one.clusters.size - other.clusters.size;
}

function isExcluded({ prospect }: Place): boolean {
  return prospect === undefined || prospect.expelled.length > 0;
}

function presentIn(
  { clusters }: Quota,
  places: readonly Place[],
  meant: PlacementRecord | undefined,
): Presence {
  let replicas = 0;
  for (const { name, member } of places) {
    if (!clusters.has(name)) continue;
    replicas += member.part?.replicas ?? 0;
  }
  // Before the first decision is on it, all that is there was decided.
  if (meant === undefined) return { replicas, available: replicas };
  const { kept: _, ...goal } = meant;
  const decided = meantBy(goal, (name) => clusters.has(name));
  return { replicas, available: Math.min(replicas, decided) };
}

interface Sharing {
  readonly isCopied: boolean;
  /** It does not move for balance: what would be shared anew is not given up where it is. */
  readonly isStaying: boolean;
  /** Of every cluster that it may be in. */
  readonly isOfAll: boolean;
  readonly maxSkews: readonly number[];
}

function within(
  places: readonly Place[],
  { clusters }: Quota,
  bound: Bound,
  { isCopied, isStaying, isOfAll, maxSkews }: Sharing,
): readonly Place[] {
  const open = receivers(places.map(({ member }) => member));
  const shares = places
    .filter(({ name }) => clusters.has(name))
    .map(({ name, member }) => {
      const { weight, capacity, domains, part, room = Number.POSITIVE_INFINITY } = member;
      const current = part?.replicas ?? 0;
      // Of what stays where it is, nobody else has what a lost cluster has.
      const isOutThere = isStaying && isLeftAlone(member) && current > 0;
      const own = isStaying ? Math.max(room, current) : room;
      return {
        ...{ name, weight, domains },
        capacity: isStaying && current > 0 ? undefined : capacity,
        ready: isOutThere || !isToBeEmptied(member),
        cordoned: !open.has(member),
        // Where something else is short of room, what was started elsewhere for balance would be left beside what is here.
        keeps: isStaying || !isOfAll || member.standing === "cordoned",
        room: isCopied ? Math.min(1, own) : own,
        current,
      };
    });
  const shared = distribute(bound.replicas, shares, maxSkews);
  return places.map((place) => bounded(place, shared.get(place.name), bound));
}

function bounded(place: Place, share: number | undefined, { because }: Bound): Place {
  const { member, prospect } = place;
  const { room = Number.POSITIVE_INFINITY } = member;
  if (share === undefined || share >= room) return place;
  return {
    ...place,
    member: { ...member, room: share },
    prospect: prospect && { ...prospect, room: { replicas: share, because } },
  };
}
