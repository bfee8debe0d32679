/**
 * Ranges of numbers, one for each cluster, for what has a name and data of its own: Pods of a StatefulSet.
 *
 * Invariants:
 * 1. No number is in the ranges of two clusters, nor given to one while another may still run it: it is taken away first, and given
 *    to the next when the cluster has said that it is gone.
 * 2. Numbers stay where they are. They move only when their cluster is to be emptied, one at a time; a cluster that joins gets numbers when
 *    there are new ones.
 * 3. A lost cluster keeps its numbers: nobody can say that they do not run. They are free when its SyncTarget is deleted, or when its agent has
 *    surely stopped them and its part says none.
 * 4. While there is nowhere to go, nothing is taken away.
 */
import { distribute } from "./distribute.ts";
import { receivers } from "./goal.ts";
import { isLeftAlone, isStopped, isToBeEmptied, type Member, type PlanInput } from "./members.ts";
import { type Plan, unrecorded } from "./plan-moves.ts";

export interface OrdinalInput extends Pick<PlanInput, "replicas" | "members"> {
  /** The first of all numbers. */
  readonly first: number;
}

/** From `start`, up to and without `end`. */
interface Range {
  readonly start: number;
  readonly end: number;
}

export function planOrdinals({ replicas, members, first }: OrdinalInput): Plan {
  const all: Range = { start: first, end: first + replicas };
  const open = receivers(members);
  const kept = keptRanges(members, all, open.size > 0);
  const isSettled = members.every(hasOnlyItsOwn);
  const next = new Map<string, Range>(kept);
  const free = freeIn(all, kept);
  const given = isSettled ? give(free, { replicas, members, open, kept }) : new Map();
  for (const [name, range] of given) next.set(name, range);
  if (isSettled && given.size === 0 && members.every(isReady)) takeOne(members, open, next);
  const isStuck = isSettled && given.size === 0;
  return planOf(members, next, isStuck ? free : []);
}

/** What each has of what is asked for. Who comes first by name keeps what two should never have had. */
function keptRanges(
  members: readonly Member[],
  all: Range,
  hasReceiver: boolean,
): Map<string, Range> {
  const kept = new Map<string, Range>();
  let taken: readonly Range[] = [];
  for (const member of byName(members)) {
    const { name, standing, part } = member;
    // Without its SyncTarget nothing runs for us.
    if (part === undefined || standing === "gone") continue;
    const { start = 0, replicas } = part;
    if (isStopped(member) && hasReceiver) {
      kept.set(name, { start, end: start });
      continue;
    }
    const own = part.isPinned
      ? { start, end: start + replicas }
      : firstFree(
          { start: Math.max(start, all.start), end: Math.min(start + replicas, all.end) },
          taken,
        );
    kept.set(name, own);
    taken = [...taken, own];
  }
  return kept;
}

function firstFree(range: Range, taken: readonly Range[]): Range {
  let { start, end } = range;
  for (const other of taken) {
    if (other.end <= start || other.start >= end || sizeOf(other) === 0) continue;
    if (other.start <= start) start = Math.max(start, other.end);
    else end = other.start;
  }
  return { start, end: Math.max(start, end) };
}

/** Whether the cluster has said that it runs no more than it should. A lost one that has not may run what it no longer has. */
function hasOnlyItsOwn(member: Member): boolean {
  const { standing, part } = member;
  if (part === undefined || standing === "gone") return true;
  if (isStopped(member)) return part.isGoing || part.replicas === 0;
  if (part.isGoing) return false;
  return part.isObserved && (part.running ?? 0) <= part.replicas;
}

function isReady(member: Member): boolean {
  const { standing, part } = member;
  if (part === undefined || standing === "gone" || isLeftAlone(member)) return true;
  return part.available >= part.replicas;
}

function freeIn(all: Range, kept: ReadonlyMap<string, Range>): readonly Range[] {
  const taken = [...kept.values()].filter((range) => sizeOf(range) > 0);
  const free: Range[] = [];
  let at = all.start;
  for (const { start, end } of taken.sort((a, b) => a.start - b.start)) {
    if (start > at) free.push({ start: at, end: Math.min(start, all.end) });
    at = Math.max(at, end);
  }
  if (at < all.end) free.push({ start: at, end: all.end });
  return free;
}

interface Givers {
  readonly replicas: number;
  readonly members: readonly Member[];
  readonly open: ReadonlySet<Member>;
  readonly kept: ReadonlyMap<string, Range>;
}

/** Free numbers go to those that can have them: next to what they have, or to who has none. As even as that allows. */
function give(free: readonly Range[], givers: Givers): ReadonlyMap<string, Range> {
  const given = new Map<string, Range>();
  const { replicas, members, open, kept } = givers;
  const sizes = new Map([...kept].map(([name, range]) => [name, sizeOf(range)]));
  const sizeNow = (name: string) => sizeOf(given.get(name) ?? kept.get(name) ?? empty);
  const shares = members.map((member) => ({
    name: member.name,
    ready: !isToBeEmptied(member),
    weight: member.weight,
    capacity: member.capacity,
    room: member.room,
    cordoned: !open.has(member),
    current: sizes.get(member.name) ?? 0,
  }));
  const wanted = distribute(replicas, shares);
  for (const gap of free) {
    let { start } = gap;
    const receiving = byName([...open]).filter(({ name, part }) => {
      const range = given.get(name) ?? kept.get(name) ?? empty;
      if (part?.isPinned === true) return false;
      return sizeOf(range) === 0 || range.end === gap.start || range.start === gap.end;
    });
    // Who ends where the gap begins is first, who begins where it ends is last.
    const order = (name: string) => {
      const range = given.get(name) ?? kept.get(name) ?? empty;
      if (sizeOf(range) === 0) return 1;
      return range.end === gap.start ? 0 : 2;
    };
    const inOrder = [...receiving].sort((a, b) => order(a.name) - order(b.name));
    const lacks = inOrder.map(({ name }) => Math.max(0, (wanted.get(name) ?? 0) - sizeNow(name)));
    let owed = sizeOf(gap) - lacks.reduce((sum, lack) => sum + lack, 0);
    for (const [index, { name }] of inOrder.entries()) {
      // What nobody is owed goes to the first; what is owed beyond the gap is not given.
      const more = Math.max(0, (lacks[index] ?? 0) + Math.max(0, owed));
      owed = Math.min(0, owed);
      const end = Math.min(gap.end, start + more);
      if (end === start) continue;
      const range = given.get(name) ?? kept.get(name) ?? empty;
      // The last one in line has what comes after the gap: it must get all up to there.
      const isAfter = sizeOf(range) > 0 && range.start === gap.end;
      const upTo = isAfter ? gap.end : end;
      given.set(
        name,
        sizeOf(range) === 0 ? { start, end: upTo } : joined(range, { start, end: upTo }),
      );
      start = upTo;
    }
  }
  return given;
}

/** Takes one number from a cluster that is to be emptied, at the end where a receiver can have it. */
function takeOne(
  members: readonly Member[],
  open: ReadonlySet<Member>,
  next: Map<string, Range>,
): void {
  const ranges = byName([...open]).map(({ name }) => next.get(name) ?? empty);
  for (const member of byName(members)) {
    const range = next.get(member.name);
    const isLeaving =
      isToBeEmptied(member) && !isLeftAlone(member) && member.part?.isPinned !== true;
    if (!isLeaving || range === undefined || sizeOf(range) === 0) continue;
    if (ranges.some((other) => sizeOf(other) > 0 && other.end === range.start)) {
      next.set(member.name, { start: range.start + 1, end: range.end });
      return;
    }
    const canHaveLast = ranges.some((other) => sizeOf(other) === 0 || other.start === range.end);
    if (!canHaveLast) continue;
    next.set(member.name, { start: range.start, end: range.end - 1 });
    return;
  }
}

function planOf(
  members: readonly Member[],
  ranges: ReadonlyMap<string, Range>,
  unplaced: readonly Range[],
): Plan {
  const next = new Map<string, number | "remove">();
  const starts = new Map<string, number>();
  const goal = new Map<string, number>();
  let surplus = 0;
  for (const member of members) {
    const { name, part } = member;
    const range = ranges.get(name);
    if (part?.isGoing === true || part?.isPinned === true) continue;
    const size = range === undefined ? 0 : sizeOf(range);
    if (part === undefined) {
      if (size === 0) continue;
    } else if (
      size === 0 &&
      isToBeEmptied(member) &&
      (!isStopped(member) || member.isLeaving === true) &&
      hasOnlyItsOwn(member) &&
      part.replicas === 0
    ) {
      next.set(name, "remove");
      continue;
    } else if (member.standing === "gone") {
      next.set(name, "remove");
      continue;
    }
    if (isToBeEmptied(member) && !isLeftAlone(member)) surplus += size;
    else goal.set(name, size);
    next.set(name, size);
    starts.set(name, range?.start ?? part?.start ?? 0);
  }
  const total = unplaced.reduce((sum, range) => sum + sizeOf(range), 0);
  return { next, starts, goal, unplaced: total, surplus, ...unrecorded };
}

const empty: Range = { start: 0, end: 0 };

function joined(a: Range, b: Range): Range {
  return { start: Math.min(a.start, b.start), end: Math.max(a.end, b.end) };
}

function sizeOf({ start, end }: Range): number {
  return Math.max(0, end - start);
}

function byName(members: readonly Member[]): readonly Member[] {
  return [...members].sort((a, b) => (a.name < b.name ? -1 : 1));
}
