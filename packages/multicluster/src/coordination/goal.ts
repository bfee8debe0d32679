/** Where the replicas of a whole should be in the end, from where they are and what the clusters may be used for. */
import { type ClusterWeightInfo, distribute } from "./distribute.ts";
import {
  type ClusterShare,
  isFailed,
  moveRecordFor,
  type PlanInput,
  type PlanRequest,
  type RolloutBudget,
  sumOf,
} from "./members.ts";
import type { ClusterState } from "./standing.ts";

/** What came back is not given more before it has proved itself, unless there is nobody else; what has no part yet has nothing to prove. */
export function eligibleClusters(members: readonly ClusterShare[]): ReadonlySet<ClusterShare> {
  const isNobodyElse = !members.some(({ standing }) => standing === "accepting");
  const may = ({ standing, part }: ClusterShare) =>
    standing === "accepting" || (standing === "settling" && (isNobodyElse || part === undefined));
  return new Set(members.filter(may));
}

export interface ReplicaAssignment {
  readonly goal: ReadonlyMap<string, number>;
  /** Members whose copies did not become available in time: they get back what they had. */
  readonly givenUp: ReadonlySet<string>;
}

/** What has failed is given up only if all of it has another place: elsewhere, or where it was. */
export function assignReplicas(wish: PlanRequest): ReplicaAssignment {
  const failed = wish.input.members.filter((one) => isFailed(wish, one));
  const givenUp = new Set(failed.map(({ name }) => name));
  const goal = shared(wish, givenUp);
  if (givenUp.size === 0 || sumOf([...goal.values()]) >= placeableOf(wish.input))
    return { goal, givenUp };
  return { goal: shared(wish, new Set()), givenUp: new Set() };
}

/** As many as are asked for, and as there may be. */
function placeableOf({ replicas, placeable = replicas }: PlanInput): number {
  return Math.min(replicas, placeable);
}

function shared(wish: PlanRequest, givenUp: ReadonlySet<string>): ReadonlyMap<string, number> {
  const { budget, input } = wish;
  const { members } = input;
  const replicas = placeableOf(input);
  const pinned = members.filter(({ part }) => part?.isPinned === true);
  const fixed = sumOf(pinned, ({ part }) => part?.replicas ?? 0);
  const free = members.filter((member) => !pinned.includes(member));
  const toShare = Math.max(0, replicas - fixed);
  const stays = budget.isPaused || budget.isExclusive;
  const goal = stays
    ? retainedAssignment(input, budget, free, toShare)
    : openAssignment(wish, givenUp, free, toShare);
  for (const { name, part } of pinned) goal.set(name, part?.replicas ?? 0);
  return goal;
}

function openAssignment(
  wish: PlanRequest,
  givenUp: ReadonlySet<string>,
  members: readonly ClusterShare[],
  replicas: number,
): Map<string, number> {
  const open = eligibleClusters(members);
  const shareOf = (member: ClusterShare): ClusterWeightInfo => {
    const { name, weight, capacity, room, domains } = member;
    const isGivenUp = givenUp.has(name);
    const before = isGivenUp ? moveRecordFor(wish, member)?.from : stayingOf(member);
    const ready = takesPart.has(member.standing);
    const cordoned = isGivenUp || !open.has(member);
    // Nothing leaves for balance; who asks for less takes it from wherever it is.
    const keeps = !isGivenUp && member.standing === "cordoned" && wish.input.scaledDownBy <= 0;
    return { name, ready, weight, capacity, room, domains, cordoned, keeps, current: before ?? 0 };
  };
  const goal = new Map(distribute(replicas, members.map(shareOf), wish.input.maxSkews));
  const unplaced = replicas - sumOf([...goal.values()]);
  if (unplaced <= 0 || givenUp.size === 0) return goal;
  // Nobody else takes it, so it stays where it was, or returns there if only its author wanted it away.
  const homes = members.filter(({ standing }) => standing === "leaving");
  const back = distribute(
    unplaced,
    homes.map((one) => {
      const has = stayingOf(one);
      const current = one.mayReturn === true ? (moveRecordFor(wish, one)?.from ?? has) : has;
      return { name: one.name, ready: true, cordoned: true, current };
    }),
  );
  for (const [name, share] of back) goal.set(name, (goal.get(name) ?? 0) + share);
  return goal;
}

/** Everybody keeps what they have, but for those who have to give it up; only what is missing or too much is shared. */
function retainedAssignment(
  { scaledDownBy, maxSkews }: PlanInput,
  { isPaused }: RolloutBudget,
  members: readonly ClusterShare[],
  replicas: number,
): Map<string, number> {
  const keeps = ({ standing }: ClusterShare) =>
    takesPart.has(standing) || (isPaused && standing === "leaving");
  const keepers = members.filter(keeps);
  const kept = sumOf(keepers, ({ part }) => part?.replicas ?? 0);
  const goal = new Map(members.map(({ name }) => [name, 0] as [string, number]));
  for (const { name, part } of keepers) goal.set(name, part?.replicas ?? 0);
  const isTooMany = kept > replicas && (!isPaused || scaledDownBy > 0);
  if (isTooMany) for (const [name, share] of keptAmong(keepers, replicas)) goal.set(name, share);
  if (kept >= replicas) return goal;
  const open = eligibleClusters(members);
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

/** Fewer than they have. What is being removed is made again only where the others have too few. */
function keptAmong(
  keepers: readonly ClusterShare[],
  replicas: number,
): ReadonlyMap<string, number> {
  const isGoing = ({ part }: ClusterShare) => part?.isGoing === true;
  const shareOf = ({ name, standing, room, part }: ClusterShare): ClusterWeightInfo => {
    const current = part?.replicas ?? 0;
    const most = takesPart.has(standing) ? room : undefined;
    return { name, ready: true, cordoned: true, room: most, current };
  };
  const staying = keepers.filter((one) => !isGoing(one)).map(shareOf);
  const kept = distribute(replicas, staying);
  const left = replicas - sumOf([...kept.values()]);
  return new Map([...kept, ...distribute(left, keepers.filter(isGoing).map(shareOf))]);
}

/** What is being removed draws nothing back to where it was. */
function stayingOf({ part }: ClusterShare): number {
  return part === undefined || part.isGoing ? 0 : part.replicas;
}

const takesPart: ReadonlySet<ClusterState> = new Set([
  "accepting",
  "cordoned",
  "settling",
  "wavering",
]);
