/**
 * How many replicas go where, as arithmetic: no clocks, no objects, no history but what each cluster has now.
 *
 * Promises:
 * 1. The sum is what was asked for whenever some cluster takes part that is not cordoned.
 * 2. A cluster's share is its exact quota (by weight, among those with room) rounded down or up; among all such splits it is one
 *    that moves the fewest replicas.
 * 3. Capacity is exceeded only when all of it is used up, and then by all alike. A cordoned cluster never gets more than it has.
 * 4. The order of the clusters does not matter: ties are decided by name.
 */
import { assert } from "@kcp-ts/machinery/base";

export interface Share {
  readonly name: string;
  /** Takes part. One that does not gets nothing. */
  readonly ready: boolean;
  /** Relative to the others; 1 if left out. Positive. */
  readonly weight?: number | undefined;
  /** Replicas that it has room for; unbounded if left out. */
  readonly capacity?: number | undefined;
  /** Keeps at most what it has. */
  readonly cordoned?: boolean | undefined;
  /** What it has now. */
  readonly current: number;
}

/** Above this, sums of weights times replicas would no longer be exact. */
export const weightMax = 1000;

export function distribute(
  replicas: number,
  clusters: readonly Share[],
): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const { name } of clusters) shares.set(name, 0);
  const members = clusters.filter(({ ready }) => ready).map(memberOf);
  members.sort((a, b) => (a.name < b.name ? -1 : 1));
  const left = fill(replicas, members, shares);
  // There is more than room: those that can be overfilled are, by their weights.
  const open = members.filter(({ isOpen }) => isOpen);
  if (left > 0) fill(left, open.map(overfilled(shares)), shares);
  return shares;
}

interface Member {
  readonly name: string;
  readonly weight: number;
  readonly room: number;
  readonly isOpen: boolean;
  readonly current: number;
}

function memberOf({ name, weight = 1, capacity, cordoned = false, current }: Share): Member {
  assert(weight > 0 && weight <= weightMax, `weight ${weight} of ${name}`);
  const limit = Math.max(0, capacity ?? Number.POSITIVE_INFINITY);
  const room = cordoned ? Math.min(limit, current) : limit;
  return { name, weight, room, isOpen: !cordoned, current };
}

function overfilled(shares: ReadonlyMap<string, number>): (member: Member) => Member {
  return (member) => {
    const current = Math.max(0, member.current - (shares.get(member.name) ?? 0));
    return { ...member, room: Number.POSITIVE_INFINITY, current };
  };
}

/** Adds to the shares; returns what found no room. */
function fill(replicas: number, members: readonly Member[], shares: Map<string, number>): number {
  let left = replicas;
  let open = members;
  // A cluster whose quota is more than its room gets its room, and the others share the rest anew.
  for (;;) {
    const weights = sumOf(open, ({ weight }) => weight);
    const full = open.filter(({ weight, room }) => room * weights <= left * weight);
    if (full.length === 0) break;
    for (const { name, room } of full) add(shares, name, room);
    left -= sumOf(full, ({ room }) => room);
    open = open.filter((member) => !full.includes(member));
  }
  if (open.length === 0) return left;
  round(left, open, shares);
  return 0;
}

function round(replicas: number, members: readonly Member[], shares: Map<string, number>): void {
  const weights = sumOf(members, ({ weight }) => weight);
  const quotas = members.map((member) => {
    const exact = replicas * member.weight;
    const floor = Math.floor(exact / weights);
    return { ...member, floor, rest: exact - floor * weights };
  });
  let over = replicas - sumOf(quotas, ({ floor }) => floor);
  for (const { name, floor } of quotas) add(shares, name, floor);
  // One more for those that have it already, then for those that are owed most of it.
  const ranked = quotas
    .filter(({ rest }) => rest > 0)
    .sort(
      (a, b) =>
        Number(b.current > b.floor) - Number(a.current > a.floor) ||
        b.rest - a.rest ||
        (a.name < b.name ? -1 : 1),
    );
  for (const { name } of ranked) {
    if (over-- <= 0) break;
    add(shares, name, 1);
  }
}

function add(shares: Map<string, number>, name: string, replicas: number): void {
  shares.set(name, (shares.get(name) ?? 0) + replicas);
}

function sumOf<Item>(items: readonly Item[], amountOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + amountOf(item), 0);
}
