/**
 * What a workspace may use of some clusters together, as room in each of them. A quota is shared out among its clusters as replicas would be, so that
 * whoever plans keeps to it by keeping to the room of each cluster.
 *
 * The quotas of fewer clusters come first: one within another is then kept, and both are used up. Of two that have some clusters in common and others
 * not, what they hold may be less than it could.
 *
 * Bounds that are lowered stop nothing: what runs has its room, as far as it was meant to be there. What runs twice because it moves was not: the last
 * decision says how many there were to be.
 */
import type { Assessment, Bound, Presence, Quota } from "../scheduling/index.ts";
import type { DecideInput, Place } from "./decide.ts";
import { distribute } from "./distribute.ts";
import { receivers } from "./goal.ts";
import { isToBeEmptied } from "./members.ts";
import { readPlacementHistory } from "./placement-history.ts";

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
  const wanted = isCopied ? places.length : strategy.asked(parent);
  let bounded = places;
  let total: Bound | undefined;
  for (const quota of [...quotas].sort(bySize)) {
    const bound = quota.boundWith(presentIn(quota, places, last?.split));
    // What may have all of it is in nobody's way.
    if (bound === undefined || bound.replicas >= wanted) continue;
    const isOfAll = places.every((one) => isExcluded(one) || quota.clusters.has(one.name));
    if (isOfAll && (total === undefined || bound.replicas < total.replicas)) total = bound;
    bounded = within(bounded, quota, bound, { isCopied, isOfAll, maxSkews });
  }
  return { places: bounded, total };
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
  meant: Readonly<Record<string, number>> | undefined,
): Presence {
  let [replicas, available, decided] = [0, 0, 0];
  for (const { name, member } of places) {
    if (!clusters.has(name)) continue;
    replicas += member.part?.replicas ?? 0;
    available += Math.min(member.part?.replicas ?? 0, member.part?.available ?? 0);
    decided += countOf(meant?.[name]);
  }
  return { replicas, available: meant === undefined ? available : Math.min(available, decided) };
}

/** Anybody may write annotations. */
function countOf(said: unknown): number {
  return typeof said === "number" && said > 0 ? said : 0;
}

interface Sharing {
  readonly isCopied: boolean;
  /** Of every cluster that it may be in. */
  readonly isOfAll: boolean;
  readonly maxSkews: readonly number[];
}

function within(
  places: readonly Place[],
  { clusters }: Quota,
  bound: Bound,
  { isCopied, isOfAll, maxSkews }: Sharing,
): readonly Place[] {
  const open = receivers(places.map(({ member }) => member));
  const shares = places
    .filter(({ name }) => clusters.has(name))
    .map(({ name, member }) => {
      const { weight, capacity, domains, part, room = Number.POSITIVE_INFINITY } = member;
      return {
        ...{ name, weight, capacity, domains },
        ready: !isToBeEmptied(member),
        cordoned: !open.has(member),
        // Where something else is short of room, what was started elsewhere for balance would be left beside what is here.
        keeps: !isOfAll || member.standing === "cordoned",
        room: isCopied ? Math.min(1, room) : room,
        current: part?.replicas ?? 0,
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
