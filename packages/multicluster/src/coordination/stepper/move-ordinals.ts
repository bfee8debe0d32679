/**
 * Ordinal ranges, one for each cluster, for replicas that have a name and data of their own: Pods
 * of a StatefulSet.
 *
 * Invariants:
 *
 * 1. No ordinal is in the ranges of two clusters, nor assigned to one cluster while another may
 *    still run it: the old cluster loses it first, and the next cluster gets it after the old
 *    cluster has reported that it stopped.
 * 2. Ordinals stay in their clusters. They move only when their cluster is drained, one at a time,
 *    and only while all others are available, or at most maxUnavailable are not; a newly registered
 *    cluster gets ordinals when the workload scales up.
 * 3. An Unreachable cluster keeps its ordinals, because they may run. They are free when its
 *    SyncTarget is deleted, or when its agent has certainly stopped them and its copy says 0
 *    replicas.
 * 4. While no feasible cluster exists, no ordinal is taken away, and ordinals that should leave
 *    count as unscheduled: the status must show that they do not move.
 * 5. A cluster has one range. Where an ordinal has to leave and is adjacent to no range, one
 *    cluster first hands its own range to adjacent ranges, if these exist.
 * 6. A cluster gets no more ordinals than its capacity; it keeps the ordinals that it has. Nor do
 *    all clusters together get more than the limit: ordinals that must leave precede ordinals that
 *    never ran.
 * 7. An ordinal with PersistentVolumeClaims leaves only when these may move to its destination, and
 *    starts only in the cluster that has them: they are requested first.
 */
import { eligibleClusters } from "./assign-replicas.ts";
import {
  type ClusterShare,
  isStoppedByFencing,
  isToBeDrained,
  isUnreachable,
  maxAvailable,
  minAvailable,
  type PlanInput,
  sumOf,
} from "./cluster-share.ts";
import { distribute } from "./distribute.ts";
import {
  emptyRange,
  firstFree,
  firstOf,
  freeIn,
  type OrdinalRange,
  sizeOf,
  unionOfRanges,
} from "./ordinal-ranges.ts";
import type { ProposedStep } from "./plan.ts";

export interface OrdinalInput
  extends Pick<PlanInput, "replicas" | "clusters" | "maxTotal" | "budget"> {
  readonly ordinals?: OrdinalOptions | undefined;
}

export interface OrdinalOptions {
  /** The first ordinal of the workload. */
  readonly first: number;
  /** The clusters of the ordinals' PersistentVolumeClaims; the ordinals have none if omitted. */
  readonly volumes?: OrdinalVolumes | undefined;
}

/** The locations of the ordinals' PersistentVolumeClaims. */
export interface OrdinalVolumes {
  /** Whether the ordinal's claims are in the cluster. */
  isIn(ordinal: number, cluster: string): boolean;
  /** Whether the ordinal's claims were requested in the cluster, and may move there. */
  mayLeaveFor(ordinal: number, cluster: string): boolean;
  /**
   * The cluster that has the ordinal's claims, when they must not leave it though another cluster
   * requested them.
   */
  keptBy(ordinal: number): string | undefined;
}

export function moveOrdinals(input: OrdinalInput): ProposedStep {
  const { replicas, clusters, maxTotal: placeable = replicas } = input;
  const { first, volumes } = input.ordinals ?? { first: 0 };
  const all: OrdinalRange = { start: first, end: first + replicas };
  const accepting = new Set([...eligibleClusters(clusters)].filter(hasRoom));
  const retained = keptRanges(clusters, all, accepting.size > 0);
  const free = freeIn(all, retained);
  const vacated = vacatedFor(clusters, accepting, retained, free);
  const open = new Set([...accepting].filter((share) => share !== vacated));
  const isSettled = clusters.every(hasOnlyItsOwn);
  const next = new Map<string, OrdinalRange>(retained);
  const takers = withoutReserve(clusters, open, retained, free);
  const allowed = firstOf(free, placeable - sumOf([...retained.values()], sizeOf));
  const wanted = isSettled
    ? assignOrdinals(allowed, { replicas, clusters, open: takers, retained })
    : new Map();
  const { given, asks } = inPlace(wanted, retained, volumes);
  for (const [name, range] of given) next.set(name, range);
  if (isSettled && volumes !== undefined) giveBack(free, next, { clusters, volumes, placeable });
  if (isSettled && wanted.size === 0) {
    const taken = withdrawOrdinal(
      dispensable(movableOrdinals(clusters, open, next, vacated), input, retained),
      volumes,
    );
    for (const { from, rest } of taken.now) next.set(from, rest);
    for (const { to, ordinal } of taken.asked) {
      const one = { start: ordinal, end: ordinal + 1 };
      const range = asks.get(to) ?? next.get(to) ?? emptyRange;
      if (sizeOf(range) === 0) asks.set(to, one);
      // A cluster requests one range: of two clusters that empty themselves into the same cluster
      // without ordinals, the second waits.
      else if (range.start === one.end || range.end === ordinal)
        asks.set(to, unionOfRanges(range, one));
    }
  }
  const isStuck = isSettled && wanted.size === 0;
  const stranded = accepting.size === 0 ? leavingRanges(clusters, next) : [];
  const plan = planOf(clusters, next, isStuck ? [...free, ...stranded] : []);
  const misfits = isStuck && open.size > 0 ? misfitsOf(clusters, open, next, free) : [];
  const waiting = [...asks].reduce(
    (sum, [name, range]) => sum + sizeOf(range) - sizeOf(next.get(name) ?? emptyRange),
    0,
  );
  const unschedulableReason = misfits.length === 0 ? undefined : misfitText(misfits);
  return {
    ...plan,
    deferred: waiting,
    deferredReason: "WaitingForVolumes",
    requestedOrdinals: isSettled ? asks : undefined,
    unschedulableReason,
  };
}

/**
 * The desired ordinals whose claims are in the cluster already; the other ordinals are requested.
 */
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

/** Returns an ordinal to its previous cluster when its claims must not leave that cluster. */
function giveBack(
  free: readonly OrdinalRange[],
  next: Map<string, OrdinalRange>,
  {
    clusters,
    volumes,
    placeable,
  }: Pick<OrdinalInput, "clusters"> & {
    readonly volumes: OrdinalVolumes;
    readonly placeable: number;
  },
): void {
  for (const { start, end } of free) {
    for (let ordinal = start; ordinal < end; ordinal++) {
      if (sumOf([...next.values()], sizeOf) >= placeable) return;
      const name = volumes.keptBy(ordinal);
      const home = clusters.find((share) => share.name === name);
      const isOpen = home !== undefined && home.state !== "Unregistered" && !isUnreachable(home);
      if (name === undefined || !isOpen || !volumes.isIn(ordinal, name)) continue;
      if (home.copy?.isUnmanaged === true || home.copy?.isDeleting === true) continue;
      const range = next.get(name) ?? emptyRange;
      const { maxReplicas = Number.POSITIVE_INFINITY } = home;
      // An ordinal that never ran in the cluster waits for capacity; an ordinal whose move was
      // rejected returns regardless.
      if (!isToBeDrained(home) && sizeOf(range) >= maxReplicas) continue;
      const one = { start: ordinal, end: ordinal + 1 };
      if (sizeOf(range) === 0) next.set(name, one);
      else if (range.end === ordinal || range.start === one.end)
        next.set(name, unionOfRanges(range, one));
    }
  }
}

/**
 * The requested ordinals that each cluster has. Of two clusters with the same ordinal, which must
 * never happen, the first by name keeps it.
 */
function keptRanges(
  shares: readonly ClusterShare[],
  all: OrdinalRange,
  hasReceiver: boolean,
): Map<string, OrdinalRange> {
  const kept = new Map<string, OrdinalRange>();
  let taken: readonly OrdinalRange[] = [];
  for (const share of byName(shares)) {
    const { name, state, copy } = share;
    // In an Unregistered cluster, nothing runs for this workload.
    if (copy === undefined || state === "Unregistered") continue;
    const { start = 0, replicas } = copy;
    if (isStoppedByFencing(share) && hasReceiver) {
      kept.set(name, { start, end: start });
      continue;
    }
    const own = copy.isUnmanaged
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

/**
 * Whether the cluster has reported that it runs only its assigned ordinals. An Unreachable cluster
 * that has not reported may run ordinals that it no longer has.
 */
function hasOnlyItsOwn(share: ClusterShare): boolean {
  const { state, copy } = share;
  if (copy === undefined || state === "Unregistered") return true;
  if (isStoppedByFencing(share)) return copy.isDeleting || copy.replicas === 0;
  if (copy.isDeleting) return false;
  return copy.isObserved && (copy.running ?? 0) <= copy.replicas;
}

/**
 * An ordinal may be unavailable while it moves; no further ordinal moves while as many are
 * unavailable as the limit permits. An unavailable ordinal may always move.
 */
function dispensable(
  leaving: readonly MovableOrdinal[],
  { replicas, maxTotal = replicas, clusters, budget }: OrdinalInput,
  kept: ReadonlyMap<string, OrdinalRange>,
): readonly MovableOrdinal[] {
  // All surplus ordinals of a cluster may be among its available ones.
  const surely = (share: ClusterShare) => {
    const { name, copy } = share;
    const superfluous = (copy?.replicas ?? 0) - sizeOf(kept.get(name) ?? emptyRange);
    return Math.max(0, minAvailable(share) - Math.max(0, superfluous));
  };
  const missing = Math.min(replicas, maxTotal) - sumOf(clusters, surely);
  // The moving ordinal is unavailable, too.
  if (missing < Math.max(1, budget?.unavailable ?? 1)) return leaving;
  return leaving.filter(({ from }) => clusters.some((one) => one.name === from && isIdle(one)));
}

/**
 * Whether all ordinals of the copy exist and none is available, by an up-to-date report: a report
 * of a cluster that is just back may date from before. With fewer existing ordinals, the report
 * could not show later whether the removed ordinal is among them.
 */
function isIdle(share: ClusterShare): boolean {
  const { copy } = share;
  return copy !== undefined && maxAvailable(share) === 0 && copy.running === copy.replicas;
}

/** A cluster at its capacity takes no more ordinals. */
function hasRoom({ maxReplicas = Number.POSITIVE_INFINITY, copy }: ClusterShare): boolean {
  return maxReplicas > (copy?.replicas ?? 0);
}

interface OrdinalAssigner {
  readonly replicas: number;
  readonly clusters: readonly ClusterShare[];
  readonly open: ReadonlySet<ClusterShare>;
  readonly retained: ReadonlyMap<string, OrdinalRange>;
}

/**
 * Assigns free ordinals to clusters with an adjacent range or without a range, as evenly as that
 * permits.
 */
function assignOrdinals(
  free: readonly OrdinalRange[],
  givers: OrdinalAssigner,
): ReadonlyMap<string, OrdinalRange> {
  const given = new Map<string, OrdinalRange>();
  const { replicas, clusters, open, retained } = givers;
  const sizes = new Map([...retained].map(([name, range]) => [name, sizeOf(range)]));
  const sizeNow = (name: string) => sizeOf(given.get(name) ?? retained.get(name) ?? emptyRange);
  const shares = clusters.map((share) => ({
    name: share.name,
    ready: !isToBeDrained(share),
    weight: share.weight,
    capacity: share.capacity,
    maxReplicas: share.maxReplicas,
    isCordoned: !open.has(share),
    current: sizes.get(share.name) ?? 0,
  }));
  const wanted = distribute(replicas, shares);
  for (const gap of free) {
    let { start } = gap;
    const receiving = byName([...open]).filter(({ name, copy }) => {
      const range = given.get(name) ?? retained.get(name) ?? emptyRange;
      if (copy?.isUnmanaged === true) return false;
      return sizeOf(range) === 0 || range.end === gap.start || range.start === gap.end;
    });
    // The range that ends where the gap begins is first, the range that begins where the gap ends
    // is last.
    const order = (name: string) => {
      const range = given.get(name) ?? retained.get(name) ?? emptyRange;
      if (sizeOf(range) === 0) return 1;
      return range.end === gap.start ? 0 : 2;
    };
    const inOrder = [...receiving].sort((a, b) => order(a.name) - order(b.name));
    const lacks = inOrder.map(({ name }) => Math.max(0, (wanted.get(name) ?? 0) - sizeNow(name)));
    let owed = sizeOf(gap) - lacks.reduce((sum, lack) => sum + lack, 0);
    for (const [index, { name, maxReplicas = Number.POSITIVE_INFINITY }] of inOrder.entries()) {
      const most = Math.max(0, maxReplicas - sizeNow(name));
      const lack = lacks[index] ?? 0;
      // Ordinals that no cluster lacks go to the first cluster with capacity; a deficit beyond the
      // gap is not assigned.
      const more = Math.min(most, lack + Math.max(0, owed));
      owed -= Math.max(0, more - lack);
      const end = Math.min(gap.end, start + more);
      if (end === start) continue;
      const range = given.get(name) ?? retained.get(name) ?? emptyRange;
      // The last cluster has the range after the gap: it must get all ordinals up to there, or as
      // many as fit.
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

/** An ordinal that may be taken from a cluster, with the remaining range and the destination. */
interface MovableOrdinal {
  readonly from: string;
  readonly to: string;
  readonly ordinal: number;
  readonly rest: OrdinalRange;
}

/** For each Draining cluster, the ordinal at the end of its range that a destination can take. */
function movableOrdinals(
  shares: readonly ClusterShare[],
  open: ReadonlySet<ClusterShare>,
  next: ReadonlyMap<string, OrdinalRange>,
  vacated?: ClusterShare,
): readonly MovableOrdinal[] {
  const others = byName([...open]).map(({ name }) => ({
    name,
    range: next.get(name) ?? emptyRange,
  }));
  const found: MovableOrdinal[] = [];
  for (const share of byName(shares)) {
    const { name: from } = share;
    const range = next.get(from);
    const isLeaving = mustMove(share) || share === vacated;
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

function mustMove(share: ClusterShare): boolean {
  return isToBeDrained(share) && !isUnreachable(share) && share.copy?.isUnmanaged !== true;
}

interface AdjacentRange {
  readonly name: string;
  readonly range: OrdinalRange;
}

/** The clusters that can take the first or the last ordinal of a range. */
function adjacentRanges({ start, end }: OrdinalRange, others: readonly AdjacentRange[]) {
  return {
    below: others.find(({ range }) => sizeOf(range) > 0 && range.end === start),
    above: others.find(({ range }) => sizeOf(range) === 0 || range.start === end),
  };
}

function hasAdjacent(range: OrdinalRange, others: readonly AdjacentRange[]): boolean {
  const { below, above } = adjacentRanges(range, others);
  return below !== undefined || above !== undefined;
}

/**
 * The smallest range of a Ready cluster that adjacent ranges can take; only when no ordinal could
 * leave otherwise. A cluster that alone can take ordinals that run nowhere is not vacated: they
 * would never run again, and nothing moves while they do not.
 */
function vacatedFor(
  shares: readonly ClusterShare[],
  accepting: ReadonlySet<ClusterShare>,
  kept: ReadonlyMap<string, OrdinalRange>,
  free: readonly OrdinalRange[],
): ClusterShare | undefined {
  const rangeOf = ({ name }: ClusterShare) => kept.get(name) ?? emptyRange;
  const leaving = shares.filter((one) => mustMove(one) && sizeOf(rangeOf(one)) > 0);
  if (leaving.length === 0 || movableOrdinals(shares, accepting, kept).length > 0) return undefined;
  const all = byName([...accepting]).filter(({ copy }) => copy?.isUnmanaged !== true);
  const rangesOf = (among: readonly ClusterShare[]) =>
    among.map((share) => ({ name: share.name, range: rangeOf(share) }));
  const takeable = free.filter((gap) => hasAdjacent(gap, rangesOf(all)));
  const mayGive = all.filter((share) => {
    const others = rangesOf(all.filter((other) => other !== share));
    const isGivable = share.copy?.isDisruptionBlocked !== true;
    return isGivable && [rangeOf(share), ...takeable].every((one) => hasAdjacent(one, others));
  });
  return mayGive.sort((a, b) => sizeOf(rangeOf(a)) - sizeOf(rangeOf(b)))[0];
}

/**
 * Reserves a cluster without ordinals for ordinals that must leave and fit nowhere else, if the
 * free ordinals have another feasible cluster.
 */
function withoutReserve(
  shares: readonly ClusterShare[],
  open: ReadonlySet<ClusterShare>,
  kept: ReadonlyMap<string, OrdinalRange>,
  free: readonly OrdinalRange[],
): ReadonlySet<ClusterShare> {
  const rangeOf = ({ name }: ClusterShare) => kept.get(name) ?? emptyRange;
  const reserve = byName([...open]).find((share) => sizeOf(rangeOf(share)) === 0);
  const isInUse = ({ range }: AdjacentRange) => sizeOf(range) > 0;
  const others = [...open]
    .filter((share) => share !== reserve)
    .map((share) => ({ name: share.name, range: rangeOf(share) }));
  const leaving = shares.filter(mustMove).map(rangeOf);
  const isNeeded = leaving.some(
    (one) => sizeOf(one) > 0 && !hasAdjacent(one, others.filter(isInUse)),
  );
  const isSpared = free.every((gap) => hasAdjacent(gap, others));
  if (reserve === undefined || !isNeeded || !isSpared) return open;
  return new Set([...open].filter((share) => share !== reserve));
}

/** Ordinals without a cluster though Ready clusters exist: the ranges of these are not adjacent. */
function misfitsOf(
  shares: readonly ClusterShare[],
  open: ReadonlySet<ClusterShare>,
  next: ReadonlyMap<string, OrdinalRange>,
  free: readonly OrdinalRange[],
): readonly OrdinalRange[] {
  const others = [...open].map(({ name }) => ({ name, range: next.get(name) ?? emptyRange }));
  return [...free, ...leavingRanges(shares, next)].filter(
    (range) => sizeOf(range) > 0 && !hasAdjacent(range, others),
  );
}

function leavingRanges(
  shares: readonly ClusterShare[],
  next: ReadonlyMap<string, OrdinalRange>,
): readonly OrdinalRange[] {
  return shares.filter(mustMove).flatMap(({ name }) => next.get(name) ?? []);
}

function misfitText(misfits: readonly OrdinalRange[]): string {
  const texts = misfits.map(({ start, end }) =>
    end - start === 1 ? `${start}` : `${start}-${end - 1}`,
  );
  return `a cluster has one range of numbers, and ${texts.join(", ")} is next to none of those that accept more: uncordon the cluster that has the numbers beside, or register one that has none`;
}

/**
 * Takes one ordinal at a time; with claims, one whose claims may move. The claims of the other
 * ordinals stay requested, so that these claims report the reason.
 */
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
  shares: readonly ClusterShare[],
  ranges: ReadonlyMap<string, OrdinalRange>,
  unplaced: readonly OrdinalRange[],
): ProposedStep {
  const next = new Map<string, number | "remove">();
  const starts = new Map<string, number>();
  const goal = new Map<string, number>();
  let surplus = 0;
  for (const share of shares) {
    const { name, copy } = share;
    const range = ranges.get(name);
    if (copy?.isDeleting === true || copy?.isUnmanaged === true) continue;
    const size = range === undefined ? 0 : sizeOf(range);
    if (copy === undefined) {
      if (size === 0) continue;
    } else if (
      size === 0 &&
      isToBeDrained(share) &&
      mayBeRemoved(share) &&
      hasOnlyItsOwn(share) &&
      copy.replicas === 0
    ) {
      next.set(name, "remove");
      continue;
    } else if (share.state === "Unregistered") {
      next.set(name, "remove");
      continue;
    }
    if (isToBeDrained(share) && !isUnreachable(share)) surplus += size;
    else goal.set(name, size);
    next.set(name, size);
    starts.set(name, range?.start ?? copy?.start ?? 0);
  }
  const total = unplaced.reduce((sum, range) => sum + sizeOf(range), 0);
  return { next, starts, goal, unscheduled: total, surplus, deferred: 0 };
}

/**
 * The copy in an Unreachable cluster cannot be deleted before the cluster is back, and until then
 * its ordinals may run.
 */
function mayBeRemoved(share: ClusterShare): boolean {
  return share.state !== "Unreachable" || (isStoppedByFencing(share) && share.isDraining === true);
}

function byName(shares: readonly ClusterShare[]): readonly ClusterShare[] {
  return [...shares].sort((a, b) => (a.name < b.name ? -1 : 1));
}
