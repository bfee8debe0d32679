/**
 * The next step from the split that is to the split that should be. Make before break: what is to move is started in its new place first, and
 * removed from its old place only as far as enough is available without it.
 *
 * Pure and without memory: called again with what came of the step, it gives the next one, until there is none. So it may be interrupted
 * anywhere, and what happens in between (a cluster fails, another joins, somebody scales) only changes where it leads.
 *
 * Invariants:
 * 1. A step never lets the available replicas that clusters report fall below what is asked for, nor further if they are below already.
 * 2. While fewer are available than asked for, nothing is taken away, but as many as were asked for less, and what a cluster itself
 *    has given up on; and of these only such as are not available.
 * 3. Of a lost cluster nothing is taken away that is asked for: it can neither be seen nor stopped.
 * 4. Repeated steps end: growing happens at once, shrinking never undoes it.
 */
import { distribute } from "./distribute.ts";
import type { Standing } from "./standing.ts";

export interface Member {
  readonly name: string;
  readonly standing: Standing;
  /** A lost cluster that is also to be emptied. */
  readonly isLeaving?: boolean;
  /** Whether its reports count; they do if left out. */
  readonly isTrusted?: boolean;
  readonly weight?: number | undefined;
  readonly capacity?: number | undefined;
  /** Replicas that it can have at all; unbounded if left out. */
  readonly room?: number | undefined;
  /** Which part of the world it is in, the widest first. */
  readonly domains?: readonly string[] | undefined;
  readonly part?: Part | undefined;
}

/** What a cluster has of the whole. */
export interface Part {
  readonly replicas: number;
  /** Of a range of numbers: the first. */
  readonly start?: number;
  readonly available: number;
  /** How many there are, ready or not, where it matters that some are gone. */
  readonly running?: number;
  /** Whether the report is about the newest spec: an older one may count what has been removed since. */
  readonly isObserved: boolean;
  /** The cluster itself has given up on what is not available. */
  readonly isStuck: boolean;
  /** Being deleted: it can be neither changed nor made anew before it is gone. */
  readonly isGoing: boolean;
  /** Somebody else decides about its replicas. */
  readonly isPinned: boolean;
}

export interface PlanInput {
  readonly replicas: number;
  readonly members: readonly Member[];
  /** How many fewer are asked for than when the parts were last written. */
  readonly scaledDownBy: number;
  /** How many there may be in all clusters together; as many as are asked for if left out. */
  readonly placeable?: number | undefined;
  /** How uneven domains may be, level by level. */
  readonly maxSkews?: readonly number[] | undefined;
}

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
}

export function planMoves(input: PlanInput): Plan {
  const { replicas, members } = input;
  const { placeable = replicas, maxSkews } = input;
  const goal = goalOf(Math.min(replicas, placeable), members, maxSkews);
  const next = new Map<string, number | "remove">();
  let available = sumOf(members, availableAtLeast);
  const isEnough = available >= replicas;
  let surplus = 0;
  let toForgo = input.scaledDownBy;
  const forgone = (part: Part, idle: number) => (part.isStuck ? idle : Math.min(idle, toForgo));
  for (const member of inShrinkingOrder(members, goal)) {
    const { name, part } = member;
    const wanted = goal.get(name) ?? 0;
    if (part === undefined || part.isGoing || part.isPinned) {
      if (part === undefined && wanted > 0) next.set(name, wanted);
      continue;
    }
    if (isFrozen(member)) {
      next.set(name, Math.min(part.replicas, replicas));
      continue;
    }
    const superfluous = Math.max(0, part.replicas - wanted);
    const idle = part.replicas - (isEnough ? availableAtLeast(member) : availableAtMost(member));
    const cut = Math.min(superfluous, isEnough ? idle + available - replicas : forgone(part, idle));
    if (isEnough) available -= Math.max(0, cut - idle);
    else if (!part.isStuck) toForgo -= cut;
    surplus += superfluous - cut;
    const left = superfluous > 0 ? part.replicas - cut : wanted;
    next.set(name, left === 0 && isToBeEmptied(member) ? "remove" : left);
  }
  const unplaced = Math.max(0, replicas - sumOf([...goal.values()], (share) => share));
  return { next, goal, unplaced, surplus };
}

/** What came back is not given more before it has proved itself, unless there is nobody else; what has no part yet has nothing to prove. */
export function receivers(members: readonly Member[]): ReadonlySet<Member> {
  const isNobodyElse = !members.some(({ standing }) => standing === "accepting");
  const may = ({ standing, part }: Member) =>
    standing === "accepting" || (standing === "settling" && (isNobodyElse || part === undefined));
  return new Set(members.filter(may));
}

function goalOf(
  replicas: number,
  members: readonly Member[],
  maxSkews?: readonly number[],
): ReadonlyMap<string, number> {
  const pinned = members.filter(({ part }) => part?.isPinned === true);
  const fixed = sumOf(pinned, ({ part }) => part?.replicas ?? 0);
  const open = receivers(members);
  const shares = members
    .filter((member) => !pinned.includes(member))
    .map((member) => ({
      name: member.name,
      ready: takesPart.has(member.standing),
      weight: member.weight,
      capacity: member.capacity,
      room: member.room,
      domains: member.domains,
      cordoned: !open.has(member),
      current: member.part?.replicas ?? 0,
    }));
  const goal = new Map(distribute(Math.max(0, replicas - fixed), shares, maxSkews));
  for (const { name, part } of pinned) goal.set(name, part?.replicas ?? 0);
  return goal;
}

const takesPart: ReadonlySet<Standing> = new Set(["accepting", "cordoned", "settling", "wavering"]);
const counts: ReadonlySet<Standing> = new Set(["accepting", "cordoned", "leaving"]);

/** What can be relied on. */
function availableAtLeast(member: Member): number {
  const { part } = member;
  if (part === undefined || part.isGoing || !isReported(member)) return 0;
  return Math.min(part.available, part.replicas);
}

/** What may be lost by taking all of it away. */
function availableAtMost(member: Member): number {
  const { part } = member;
  if (part === undefined) return 0;
  return isReported(member) ? Math.min(part.available, part.replicas) : part.replicas;
}

function isReported({ standing, isTrusted, part }: Member): boolean {
  return part?.isObserved === true && counts.has(standing) && isTrusted !== false;
}

export function isFrozen({ standing, isLeaving }: Member): boolean {
  return standing === "lost" && isLeaving !== true;
}

export function isToBeEmptied({ standing }: Member): boolean {
  return standing === "leaving" || standing === "lost" || standing === "gone";
}

/** Those that are to be emptied first, then those that have most too much; the same order every time. */
function inShrinkingOrder(
  members: readonly Member[],
  goal: ReadonlyMap<string, number>,
): readonly Member[] {
  const excess = ({ name, part }: Member) => (part?.replicas ?? 0) - (goal.get(name) ?? 0);
  return [...members].sort(
    (a, b) =>
      Number(isToBeEmptied(b)) - Number(isToBeEmptied(a)) ||
      excess(b) - excess(a) ||
      (a.name < b.name ? -1 : 1),
  );
}

function sumOf<Item>(items: readonly Item[], amountOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + amountOf(item), 0);
}
