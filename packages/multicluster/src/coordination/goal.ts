/** Where the replicas of a whole should be in the end, from where they are and what the clusters may be used for. */
import { distribute, type Share } from "./distribute.ts";
import { type Budget, isGivenUp, type Member, type PlanInput, recordOf, sumOf } from "./members.ts";
import type { Standing } from "./standing.ts";

/** What came back is not given more before it has proved itself, unless there is nobody else; what has no part yet has nothing to prove. */
export function receivers(members: readonly Member[]): ReadonlySet<Member> {
  const isNobodyElse = !members.some(({ standing }) => standing === "accepting");
  const may = ({ standing, part }: Member) =>
    standing === "accepting" || (standing === "settling" && (isNobodyElse || part === undefined));
  return new Set(members.filter(may));
}

export function goalOf(input: PlanInput, budget: Budget): ReadonlyMap<string, number> {
  const { members, placeable = input.replicas } = input;
  const replicas = Math.min(input.replicas, placeable);
  const pinned = members.filter(({ part }) => part?.isPinned === true);
  const fixed = sumOf(pinned, ({ part }) => part?.replicas ?? 0);
  const free = members.filter((member) => !pinned.includes(member));
  const toShare = Math.max(0, replicas - fixed);
  const stays = budget.isPaused || budget.isExclusive;
  const goal = stays
    ? stayingGoal(input, budget, free, toShare)
    : openGoal(input, budget, free, toShare);
  for (const { name, part } of pinned) goal.set(name, part?.replicas ?? 0);
  return goal;
}

function openGoal(
  input: PlanInput,
  budget: Budget,
  members: readonly Member[],
  replicas: number,
): Map<string, number> {
  const open = receivers(members);
  const view = { input, budget };
  const shareOf = (member: Member): Share => {
    const { name, weight, capacity, room, domains, part } = member;
    const ready = takesPart.has(member.standing);
    const isBack = isGivenUp(view, member);
    const cordoned = isBack || !open.has(member);
    const current = (isBack ? recordOf(view, member)?.from : part?.replicas) ?? 0;
    return { name, ready, weight, capacity, room, domains, cordoned, current };
  };
  const goal = new Map(distribute(replicas, members.map(shareOf), input.maxSkews));
  const unplaced = replicas - sumOf([...goal.values()]);
  if (unplaced <= 0 || !members.some((one) => isGivenUp(view, one))) return goal;
  // Where it came from takes it back: nobody else does.
  const homes = members.filter(
    ({ mayReturn, standing }) => mayReturn === true && standing === "leaving",
  );
  const back = distribute(
    unplaced,
    homes.map((one) => {
      const current = recordOf(view, one)?.from ?? one.part?.replicas ?? 0;
      return { name: one.name, ready: true, cordoned: true, current };
    }),
  );
  for (const [name, share] of back) goal.set(name, (goal.get(name) ?? 0) + share);
  return goal;
}

/** Everybody keeps what they have, but for those who have to give it up; only what is missing or too much is shared. */
function stayingGoal(
  { scaledDownBy, maxSkews }: PlanInput,
  { isPaused }: Budget,
  members: readonly Member[],
  replicas: number,
): Map<string, number> {
  const keeps = ({ standing }: Member) =>
    takesPart.has(standing) || (isPaused && standing === "leaving");
  const keepers = members.filter(keeps);
  const kept = sumOf(keepers, ({ part }) => part?.replicas ?? 0);
  const goal = new Map(members.map(({ name }) => [name, 0] as [string, number]));
  for (const { name, part } of keepers) goal.set(name, part?.replicas ?? 0);
  const isTooMany = kept > replicas && (!isPaused || scaledDownBy > 0);
  if (isTooMany) {
    const shares = keepers.map(({ name, part }) => ({
      name,
      ready: true,
      cordoned: true,
      current: part?.replicas ?? 0,
    }));
    for (const [name, share] of distribute(replicas, shares)) goal.set(name, share);
  }
  if (kept >= replicas) return goal;
  const open = receivers(members);
  const shares = [...open].map(({ name, weight, capacity, room, domains, part }) => {
    const left = (most: number | undefined) =>
      most === undefined ? undefined : Math.max(0, most - (part?.replicas ?? 0));
    return {
      name,
      ready: true,
      weight,
      capacity: left(capacity),
      room: left(room),
      domains,
      current: 0,
    };
  });
  for (const [name, share] of distribute(replicas - kept, shares, maxSkews))
    goal.set(name, (goal.get(name) ?? 0) + share);
  return goal;
}

const takesPart: ReadonlySet<Standing> = new Set(["accepting", "cordoned", "settling", "wavering"]);
