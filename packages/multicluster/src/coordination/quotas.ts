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
  type AllUnderWay,
  type Assessment,
  type Bound,
  type Presence,
  type Quota,
  readUnderWay,
} from "../scheduling/index.ts";
import type { DecideInput, Place } from "./decide.ts";
import { distribute } from "./distribute.ts";
import { receivers } from "./goal.ts";
import { isLeftAlone, isToBeEmptied, type Member } from "./members.ts";
import type { Placement } from "./placement.ts";
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
  placement: Placement | undefined,
): Bounded {
  if (quotas.length === 0) return { places, total: undefined };
  const { strategy, parent } = subject;
  const { annotations } = parent.metadata;
  const [last] = readPlacementHistory(annotations);
  const underWay = readUnderWay(annotations);
  const isCopied = strategy.sharing === "duplicate";
  const isNumbered = strategy.sharing === "ordinal";
  const { failover, rollout } = placement ?? {};
  const isStaying = isNumbered || failover?.atMostOne === true || rollout?.paused === true;
  const wanted = isCopied ? places.length : strategy.asked(parent);
  let bounded = places;
  let total: Bound | undefined;
  for (const quota of [...quotas].sort(bySize)) {
    const bound = quota.boundWith(presentIn(quota, places, { isCopied, underWay, last }));
    // What may have all of it is in nobody's way.
    if (bound === undefined || bound.replicas >= wanted) continue;
    const isOfAll = places.every((one) => isExcluded(one) || quota.clusters.has(one.name));
    if (isOfAll && (total === undefined || bound.replicas < total.replicas)) total = bound;
    bounded = isCopied
      ? copiesWithin(bounded, quota, bound, { last, maxSkews })
      : within(bounded, quota, bound, { isNumbered, isStaying, isOfAll, maxSkews });
  }
  return { places: bounded, total: total && atLeast(total, meantIn(places, underWay, last)) };
}

/** What is there and was meant to be, wherever: while it has nowhere to go it stays. */
function meantIn(
  places: readonly Place[],
  underWay: AllUnderWay,
  last: PlacementRecord | undefined,
): number {
  const there = thereIn(places, underWay);
  return last === undefined ? there : Math.min(there, meantBy(last));
}

function atLeast({ replicas, because }: Bound, least: number): Bound {
  return { replicas: Math.max(replicas, least), because };
}

function bySize(one: Quota, other: Quota): number {
  return one.clusters.size - other.clusters.size;
}

/** Nothing is to be there. */
function isExcluded({ prospect, member }: Place): boolean {
  return prospect === undefined || prospect.expelled.length > 0 || isToBeEmptied(member);
}

/** In some clusters, or in all of them: what they have, and what is on its way there. */
function thereIn(
  places: readonly Place[],
  underWay: AllUnderWay,
  clusters?: ReadonlySet<string>,
): number {
  let replicas = 0;
  for (const { name, member } of places)
    if (clusters?.has(name) !== false)
      replicas += (member.part?.replicas ?? 0) + (underWay.get(name)?.replicas ?? 0);
  return replicas;
}

interface Memories {
  readonly isCopied: boolean;
  readonly underWay: AllUnderWay;
  readonly last: PlacementRecord | undefined;
}

function presentIn(
  { clusters }: Quota,
  places: readonly Place[],
  { isCopied, underWay, last }: Memories,
): Presence {
  const replicas = thereIn(places, underWay, clusters);
  // Before the first decision is on it, all that is there was decided.
  if (last === undefined) return { replicas, available: replicas };
  const { kept = {}, ...goal } = last;
  let decided = meantBy(goal, (name) => clusters.has(name));
  // What had nowhere to go is where it may be again; and a copy stays in a lost cluster.
  const stays = ({ name, member }: Place) =>
    clusters.has(name) && isHolding(member) && (isCopied || !isLeftAlone(member));
  for (const { name, member } of places.filter(stays))
    decided += Math.min(countOf(kept[name]), member.part?.replicas ?? 0);
  return { replicas, available: Math.min(replicas, decided) };
}

interface Sharing {
  readonly isNumbered: boolean;
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
  { isNumbered, isStaying, isOfAll, maxSkews }: Sharing,
): readonly Place[] {
  const open = receivers(places.map(({ member }) => member));
  const shares = places
    .filter(({ name }) => clusters.has(name))
    .map(({ name, member }) => {
      const { weight, capacity, domains, part, room = Number.POSITIVE_INFINITY } = member;
      const current = part?.replicas ?? 0;
      // Of numbers, nobody else has what a lost cluster has.
      const isOutThere = isNumbered && isLeftAlone(member) && current > 0;
      const own = isStaying ? Math.max(room, current) : room;
      return {
        ...{ name, weight, domains },
        capacity: isStaying && current > 0 ? undefined : capacity,
        ready: isOutThere || !isToBeEmptied(member),
        cordoned: !open.has(member),
        // Where something else is short of room, what was started elsewhere for balance would be left beside what is here.
        keeps: isStaying || !isOfAll || member.standing === "cordoned",
        room: own,
        current,
      };
    });
  const shared = distribute(bound.replicas, shares, maxSkews);
  return places.map((place) => bounded(place, shared.get(place.name), bound));
}

/** Anybody may write annotations. */
function countOf(share: number | undefined): number {
  return typeof share === "number" && share > 0 ? share : 0;
}

/** What is there goes first, and of that what was decided: what is more than may be there is so because it was to go elsewhere, and does. */
function copiesWithin(
  places: readonly Place[],
  { clusters }: Quota,
  bound: Bound,
  { last, maxSkews }: Pick<Memories, "last"> & Pick<Sharing, "maxSkews">,
): readonly Place[] {
  const inside = places.filter(({ name, member }) => clusters.has(name) && isHolding(member));
  const rank = ({ name, member }: Place) =>
    isLeftAlone(member)
      ? 0
      : last !== undefined && meantBy(last, (one) => one === name) > 0
        ? 1
        : 2;
  const there = inside.filter(({ member }) => member.part !== undefined);
  const ranked = there.sort(
    (one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1),
  );
  const kept = new Set(ranked.slice(0, bound.replicas).map(({ name }) => name));
  const surplus = new Set(ranked.slice(bound.replicas).map(({ name }) => name));
  const open = receivers(inside.map(({ member }) => member));
  const shares = inside
    .filter(({ member }) => member.part === undefined)
    .map(({ name, member }) => {
      const { weight, capacity, domains, room = Number.POSITIVE_INFINITY } = member;
      const most = Math.min(1, room);
      return { name, weight, capacity, domains, ready: open.has(member), room: most, current: 0 };
    });
  const shared = distribute(bound.replicas - kept.size, shares, maxSkews);
  return places.map((place) => {
    const { name, member } = place;
    if (surplus.has(name)) return { ...place, member: { ...member, standing: "leaving" } };
    if (!clusters.has(name) || kept.has(name)) return place;
    return bounded(place, shared.get(name) ?? 0, bound);
  });
}

function isHolding(member: Member): boolean {
  return member.part?.isGoing !== true && (!isToBeEmptied(member) || isLeftAlone(member));
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
