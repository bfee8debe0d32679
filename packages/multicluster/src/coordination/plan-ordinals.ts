/**
 * Ranges of numbers, one for each cluster, for what has a name and data of its own: Pods of a StatefulSet.
 *
 * Invariants:
 * 1. No number is in the ranges of two clusters, nor given to one while another may still run it: it is taken away first, and given
 *    to the next when the cluster has said that it is gone.
 * 2. Numbers stay where they are. They move only when their cluster is to be emptied, one at a time, and only while all others are available, or as many as the
 *    budget spares are not; a cluster that joins gets numbers when there are new ones.
 * 3. A lost cluster keeps its numbers: nobody can say that they do not run. They are free when its SyncTarget is deleted, or when its agent has
 *    surely stopped them and its part says none.
 * 4. While there is nowhere to go, nothing is taken away, and what should leave counts as unplaced: who waits for it has to know that it does not move.
 * 5. A cluster has one range. Where a number has to leave and nobody can have it, because all have numbers that it is not next to, one of them gives its own to
 *    its neighbours first, if it has such.
 * 6. A cluster gets no more numbers than it has room for. What it has it keeps. Nor do all together get more than there may be: what has to leave goes before what never was.
 * 7. A number with claims is taken away only when these may go where it is to go, and given only where they are: they are asked for before.
 */
import { distribute } from "./distribute.ts";
import { eligibleClusters } from "./goal.ts";
import {
  type ClusterShare,
  isStoppedByFencing,
  isToBeDrained,
  isUnreachable,
  maxAvailable,
  minAvailable,
  type PlanInput,
  sumOf,
} from "./members.ts";
import { type Plan, withoutMoveRecords } from "./plan-moves.ts";
import {
  emptyRange,
  firstFree,
  firstOf,
  freeIn,
  type OrdinalRange,
  sizeOf,
  unionOfRanges,
} from "./ranges.ts";

export interface OrdinalInput extends Pick<PlanInput, "replicas" | "members" | "placeable"> {
  /** The first of all numbers. */
  readonly first: number;
  /** How many may be unavailable while one moves, that one included; it alone if left out. */
  readonly unavailable?: number | undefined;
  /** Where the claims of numbers are; they have none if left out. */
  readonly volumes?: OrdinalVolumes | undefined;
}

/** What is known of the claims of numbers. */
export interface OrdinalVolumes {
  /** They are in place there. */
  isIn(ordinal: number, cluster: string): boolean;
  /** They were asked for there, and may go. */
  mayLeaveFor(ordinal: number, cluster: string): boolean;
  /** The cluster that has them, when they may not leave it though they were asked for elsewhere. */
  keptBy(ordinal: number): string | undefined;
}

export interface OrdinalPlan extends Plan {
  /** By cluster: the numbers that it is to have, with their claims. Undefined while nothing new can be asked for. */
  readonly asks: ReadonlyMap<string, OrdinalRange> | undefined;
}

export function planOrdinals(input: OrdinalInput): OrdinalPlan {
  const { replicas, members, first, volumes, placeable = replicas } = input;
  const all: OrdinalRange = { start: first, end: first + replicas };
  const accepting = new Set([...eligibleClusters(members)].filter(hasRoom));
  const kept = keptRanges(members, all, accepting.size > 0);
  const vacated = vacatedFor(members, accepting, kept);
  const open = new Set([...accepting].filter((member) => member !== vacated));
  const isSettled = members.every(hasOnlyItsOwn);
  const next = new Map<string, OrdinalRange>(kept);
  const free = freeIn(all, kept);
  const takers = withoutReserve(members, open, kept, free);
  const allowed = firstOf(free, placeable - sumOf([...kept.values()], sizeOf));
  const wanted = isSettled
    ? assignOrdinals(allowed, { replicas, members, open: takers, kept })
    : new Map();
  const { given, asks } = inPlace(wanted, kept, volumes);
  for (const [name, range] of given) next.set(name, range);
  if (isSettled && volumes !== undefined) giveBack(free, next, { members, volumes, placeable });
  if (isSettled && wanted.size === 0) {
    const taken = withdrawOrdinal(
      dispensable(movableOrdinals(members, open, next, vacated), input, kept),
      volumes,
    );
    for (const { from, rest } of taken.now) next.set(from, rest);
    for (const { to, ordinal } of taken.asked) {
      const one = { start: ordinal, end: ordinal + 1 };
      const range = next.get(to) ?? emptyRange;
      asks.set(to, sizeOf(range) === 0 ? one : unionOfRanges(range, one));
    }
  }
  const isStuck = isSettled && wanted.size === 0;
  const stranded = accepting.size === 0 ? leavingRanges(members, next) : [];
  const plan = planOf(members, next, isStuck ? [...free, ...stranded] : []);
  const misfits = isStuck && open.size > 0 ? misfitsOf(members, open, next, free) : [];
  const waiting = [...asks].reduce(
    (sum, [name, range]) => sum + sizeOf(range) - sizeOf(next.get(name) ?? emptyRange),
    0,
  );
  const obstacle = misfits.length === 0 ? undefined : misfitText(misfits);
  return { ...plan, deferred: waiting, asks: isSettled ? asks : undefined, obstacle };
}

/** As much of what clusters are to have as is there with its claims; the rest is asked for. */
function inPlace(
  wanted: ReadonlyMap<string, OrdinalRange>,
  kept: ReadonlyMap<string, OrdinalRange>,
  volumes: OrdinalVolumes | undefined,
): { readonly given: ReadonlyMap<string, OrdinalRange>; readonly asks: Map<string, OrdinalRange> } {
  const asks = new Map<string, OrdinalRange>();
  if (volumes === undefined) return { given: wanted, asks };
  const given = new Map<string, OrdinalRange>();
  for (const [name, range] of wanted) {
    const own = kept.get(name) ?? emptyRange;
    let { start, end } = sizeOf(own) === 0 ? { start: range.start, end: range.start } : own;
    while (end < range.end && volumes.isIn(end, name)) end++;
    while (start > range.start && volumes.isIn(start - 1, name)) start--;
    if (end - start > sizeOf(own)) given.set(name, { start, end });
    if (end - start < sizeOf(range)) asks.set(name, range);
  }
  return { given, asks };
}

/** What was taken from a cluster, and then was not allowed to leave, goes back. */
function giveBack(
  free: readonly OrdinalRange[],
  next: Map<string, OrdinalRange>,
  {
    members,
    volumes,
    placeable,
  }: Pick<OrdinalInput, "members"> & {
    readonly volumes: OrdinalVolumes;
    readonly placeable: number;
  },
): void {
  for (const { start, end } of free) {
    for (let ordinal = start; ordinal < end; ordinal++) {
      if (sumOf([...next.values()], sizeOf) >= placeable) return;
      const name = volumes.keptBy(ordinal);
      const home = members.find((member) => member.name === name);
      const isOpen = home !== undefined && home.standing !== "gone" && !isUnreachable(home);
      if (name === undefined || !isOpen || !volumes.isIn(ordinal, name)) continue;
      if (home.part?.isPinned === true || home.part?.isGoing === true) continue;
      const range = next.get(name) ?? emptyRange;
      const { room = Number.POSITIVE_INFINITY } = home;
      // What never was there waits for room there; what had to leave and may not is back.
      if (!isToBeDrained(home) && sizeOf(range) >= room) continue;
      const one = { start: ordinal, end: ordinal + 1 };
      if (sizeOf(range) === 0) next.set(name, one);
      else if (range.end === ordinal || range.start === one.end)
        next.set(name, unionOfRanges(range, one));
    }
  }
}

/** What each has of what is asked for. Who comes first by name keeps what two should never have had. */
function keptRanges(
  members: readonly ClusterShare[],
  all: OrdinalRange,
  hasReceiver: boolean,
): Map<string, OrdinalRange> {
  const kept = new Map<string, OrdinalRange>();
  let taken: readonly OrdinalRange[] = [];
  for (const member of byName(members)) {
    const { name, standing, part } = member;
    // Without its SyncTarget nothing runs for us.
    if (part === undefined || standing === "gone") continue;
    const { start = 0, replicas } = part;
    if (isStoppedByFencing(member) && hasReceiver) {
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

/** Whether the cluster has said that it runs no more than it should. A lost one that has not may run what it no longer has. */
function hasOnlyItsOwn(member: ClusterShare): boolean {
  const { standing, part } = member;
  if (part === undefined || standing === "gone") return true;
  if (isStoppedByFencing(member)) return part.isGoing || part.replicas === 0;
  if (part.isGoing) return false;
  return part.isObserved && (part.running ?? 0) <= part.replicas;
}

/** One may be missing while it moves; who misses one already, or more, is not made to miss another. What is not available is not missed. */
function dispensable(
  leaving: readonly MovableOrdinal[],
  { replicas, placeable = replicas, members, unavailable = 1 }: OrdinalInput,
  kept: ReadonlyMap<string, OrdinalRange>,
): readonly MovableOrdinal[] {
  // Of what a cluster has and is no longer asked for, all may be among the available.
  const surely = (member: ClusterShare) => {
    const { name, part } = member;
    const superfluous = (part?.replicas ?? 0) - sizeOf(kept.get(name) ?? emptyRange);
    return Math.max(0, minAvailable(member) - Math.max(0, superfluous));
  };
  const missing = Math.min(replicas, placeable) - sumOf(members, surely);
  if (missing < Math.max(1, unavailable)) return leaving;
  return leaving.filter(({ from }) => members.some((one) => one.name === from && isIdle(one)));
}

/**
 * All are there, and none is available, by a report that counts: what a cluster says that is just back may be from before. Were there fewer, nobody could say afterwards whether
 * the one that was taken is among them.
 */
function isIdle(member: ClusterShare): boolean {
  const { part } = member;
  return part !== undefined && maxAvailable(member) === 0 && part.running === part.replicas;
}

/** Who has no room for another one takes no more. */
function hasRoom({ room = Number.POSITIVE_INFINITY, part }: ClusterShare): boolean {
  return room > (part?.replicas ?? 0);
}

interface OrdinalAssigner {
  readonly replicas: number;
  readonly members: readonly ClusterShare[];
  readonly open: ReadonlySet<ClusterShare>;
  readonly kept: ReadonlyMap<string, OrdinalRange>;
}

/** Free numbers go to those that can have them: next to what they have, or to who has none. As even as that allows. */
function assignOrdinals(
  free: readonly OrdinalRange[],
  givers: OrdinalAssigner,
): ReadonlyMap<string, OrdinalRange> {
  const given = new Map<string, OrdinalRange>();
  const { replicas, members, open, kept } = givers;
  const sizes = new Map([...kept].map(([name, range]) => [name, sizeOf(range)]));
  const sizeNow = (name: string) => sizeOf(given.get(name) ?? kept.get(name) ?? emptyRange);
  const shares = members.map((member) => ({
    name: member.name,
    ready: !isToBeDrained(member),
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
      const range = given.get(name) ?? kept.get(name) ?? emptyRange;
      if (part?.isPinned === true) return false;
      return sizeOf(range) === 0 || range.end === gap.start || range.start === gap.end;
    });
    // Who ends where the gap begins is first, who begins where it ends is last.
    const order = (name: string) => {
      const range = given.get(name) ?? kept.get(name) ?? emptyRange;
      if (sizeOf(range) === 0) return 1;
      return range.end === gap.start ? 0 : 2;
    };
    const inOrder = [...receiving].sort((a, b) => order(a.name) - order(b.name));
    const lacks = inOrder.map(({ name }) => Math.max(0, (wanted.get(name) ?? 0) - sizeNow(name)));
    let owed = sizeOf(gap) - lacks.reduce((sum, lack) => sum + lack, 0);
    for (const [index, { name, room = Number.POSITIVE_INFINITY }] of inOrder.entries()) {
      const most = Math.max(0, room - sizeNow(name));
      const lack = lacks[index] ?? 0;
      // What nobody is owed goes to the first that has room; what is owed beyond the gap is not given.
      const more = Math.min(most, lack + Math.max(0, owed));
      owed -= Math.max(0, more - lack);
      const end = Math.min(gap.end, start + more);
      if (end === start) continue;
      const range = given.get(name) ?? kept.get(name) ?? emptyRange;
      // The last one in line has what comes after the gap: it must get all up to there, or as much of it as it has room for.
      const isAfter = sizeOf(range) > 0 && range.start === gap.end;
      const piece = isAfter
        ? { start: Math.max(start, gap.end - most), end: gap.end }
        : { start, end };
      given.set(name, sizeOf(range) === 0 ? piece : unionOfRanges(range, piece));
      start = piece.end;
    }
  }
  return given;
}

/** A number that may be taken: what is left of the range, and who can have it. */
interface MovableOrdinal {
  readonly from: string;
  readonly to: string;
  readonly ordinal: number;
  readonly rest: OrdinalRange;
}

/** Of clusters that are to be emptied, the number at the end where a receiver can have it. */
function movableOrdinals(
  members: readonly ClusterShare[],
  open: ReadonlySet<ClusterShare>,
  next: ReadonlyMap<string, OrdinalRange>,
  vacated?: ClusterShare,
): readonly MovableOrdinal[] {
  const others = byName([...open]).map(({ name }) => ({
    name,
    range: next.get(name) ?? emptyRange,
  }));
  const found: MovableOrdinal[] = [];
  for (const member of byName(members)) {
    const { name: from } = member;
    const range = next.get(from);
    const isLeaving = mustMove(member) || member === vacated;
    if (!isLeaving || range === undefined || sizeOf(range) === 0) continue;
    const { start, end } = range;
    const { below, above } = adjacentRanges(range, others);
    if (below !== undefined)
      found.push({ from, to: below.name, ordinal: start, rest: { start: start + 1, end } });
    else if (above !== undefined)
      found.push({ from, to: above.name, ordinal: end - 1, rest: { start, end: end - 1 } });
  }
  return found;
}

function mustMove(member: ClusterShare): boolean {
  return isToBeDrained(member) && !isUnreachable(member) && member.part?.isPinned !== true;
}

interface AdjacentRange {
  readonly name: string;
  readonly range: OrdinalRange;
}

/** Who can have the first of a range, or the last. */
function adjacentRanges({ start, end }: OrdinalRange, others: readonly AdjacentRange[]) {
  return {
    below: others.find(({ range }) => sizeOf(range) > 0 && range.end === start),
    above: others.find(({ range }) => sizeOf(range) === 0 || range.start === end),
  };
}

/** The smallest of those that accept, and whose numbers their neighbours can have; only where nobody could leave otherwise. */
function vacatedFor(
  members: readonly ClusterShare[],
  accepting: ReadonlySet<ClusterShare>,
  kept: ReadonlyMap<string, OrdinalRange>,
): ClusterShare | undefined {
  const rangeOf = ({ name }: ClusterShare) => kept.get(name) ?? emptyRange;
  const leaving = members.filter((one) => mustMove(one) && sizeOf(rangeOf(one)) > 0);
  if (leaving.length === 0 || movableOrdinals(members, accepting, kept).length > 0)
    return undefined;
  const all = byName([...accepting]).filter(({ part }) => part?.isPinned !== true);
  const mayGive = all.filter((member) => {
    const others = all
      .filter((other) => other !== member)
      .map((other) => ({ name: other.name, range: rangeOf(other) }));
    const { below, above } = adjacentRanges(rangeOf(member), others);
    return member.part?.isHeld !== true && (below !== undefined || above !== undefined);
  });
  return mayGive.sort((a, b) => sizeOf(rangeOf(a)) - sizeOf(rangeOf(b)))[0];
}

/** One that has none is kept for numbers that have to leave and that nobody else could have, if the free ones have another place. */
function withoutReserve(
  members: readonly ClusterShare[],
  open: ReadonlySet<ClusterShare>,
  kept: ReadonlyMap<string, OrdinalRange>,
  free: readonly OrdinalRange[],
): ReadonlySet<ClusterShare> {
  const rangeOf = ({ name }: ClusterShare) => kept.get(name) ?? emptyRange;
  const reserve = byName([...open]).find((member) => sizeOf(rangeOf(member)) === 0);
  const isInUse = ({ range }: AdjacentRange) => sizeOf(range) > 0;
  const others = [...open]
    .filter((member) => member !== reserve)
    .map((member) => ({ name: member.name, range: rangeOf(member) }));
  const fits = (range: OrdinalRange, among: readonly AdjacentRange[]) => {
    const { below, above } = adjacentRanges(range, among);
    return below !== undefined || above !== undefined;
  };
  const leaving = members.filter(mustMove).map(rangeOf);
  const isNeeded = leaving.some((one) => sizeOf(one) > 0 && !fits(one, others.filter(isInUse)));
  const isSpared = free.every((gap) => fits(gap, others));
  if (reserve === undefined || !isNeeded || !isSpared) return open;
  return new Set([...open].filter((member) => member !== reserve));
}

/** What has no cluster though some accept: they have numbers that it is not next to. */
function misfitsOf(
  members: readonly ClusterShare[],
  open: ReadonlySet<ClusterShare>,
  next: ReadonlyMap<string, OrdinalRange>,
  free: readonly OrdinalRange[],
): readonly OrdinalRange[] {
  const others = [...open].map(({ name }) => ({ name, range: next.get(name) ?? emptyRange }));
  return [...free, ...leavingRanges(members, next)].filter((range) => {
    const { below, above } = adjacentRanges(range, others);
    return sizeOf(range) > 0 && below === undefined && above === undefined;
  });
}

function leavingRanges(
  members: readonly ClusterShare[],
  next: ReadonlyMap<string, OrdinalRange>,
): readonly OrdinalRange[] {
  return members.filter(mustMove).flatMap(({ name }) => next.get(name) ?? []);
}

function misfitText(misfits: readonly OrdinalRange[]): string {
  const texts = misfits.map(({ start, end }) =>
    end - start === 1 ? `${start}` : `${start}-${end - 1}`,
  );
  return `a cluster has one range of numbers, and ${texts.join(", ")} is next to none of those that accept more: uncordon the cluster that has the numbers beside, or register one that has none`;
}

/** One at a time; with claims, one that may go. What may not is asked for on, so that its claims say why. */
function withdrawOrdinal(
  leaving: readonly MovableOrdinal[],
  volumes: OrdinalVolumes | undefined,
): { readonly now: readonly MovableOrdinal[]; readonly asked: readonly MovableOrdinal[] } {
  if (volumes === undefined) return { now: leaving.slice(0, 1), asked: [] };
  const allowed = leaving.find(({ ordinal, to }) => volumes.mayLeaveFor(ordinal, to));
  if (allowed !== undefined) return { now: [allowed], asked: [allowed] };
  const undecided = leaving.find(({ ordinal }) => volumes.keptBy(ordinal) === undefined);
  const kept = leaving.filter(({ ordinal }) => volumes.keptBy(ordinal) !== undefined);
  return { now: [], asked: undecided === undefined ? kept : [...kept, undecided] };
}

function planOf(
  members: readonly ClusterShare[],
  ranges: ReadonlyMap<string, OrdinalRange>,
  unplaced: readonly OrdinalRange[],
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
      isToBeDrained(member) &&
      mayBeRemoved(member) &&
      hasOnlyItsOwn(member) &&
      part.replicas === 0
    ) {
      next.set(name, "remove");
      continue;
    } else if (member.standing === "gone") {
      next.set(name, "remove");
      continue;
    }
    if (isToBeDrained(member) && !isUnreachable(member)) surplus += size;
    else goal.set(name, size);
    next.set(name, size);
    starts.set(name, range?.start ?? part?.start ?? 0);
  }
  const total = unplaced.reduce((sum, range) => sum + sizeOf(range), 0);
  return { next, starts, goal, unplaced: total, surplus, ...withoutMoveRecords };
}

/** In a lost cluster it could not go before that is back, and until then nobody could say that none of its numbers run. */
function mayBeRemoved(member: ClusterShare): boolean {
  return member.standing !== "lost" || (isStoppedByFencing(member) && member.isLeaving === true);
}

function byName(members: readonly ClusterShare[]): readonly ClusterShare[] {
  return [...members].sort((a, b) => (a.name < b.name ? -1 : 1));
}
