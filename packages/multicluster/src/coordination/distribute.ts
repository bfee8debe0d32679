/**
 * How many replicas go where, as arithmetic: no clocks, no objects, no history but what each cluster has now.
 *
 * Promises:
 * 1. The sum is what was asked for whenever some cluster takes part that is not cordoned, and there is room for it.
 * 2. A cluster's share is its exact quota (by weight, among those with room) rounded down or up; among all such splits it is one
 *    that moves the fewest replicas.
 * 3. Capacity is exceeded only when all of it is used up, and then by all alike; room never is. A cordoned cluster never gets more than it has.
 * 4. The order of the clusters does not matter: ties are decided by name.
 * 5. A cluster that keeps what it has gives nothing up to others, unless all that is kept is more than is asked for.
 * 6. Where clusters are in domains, the domains share alike first, and then the clusters of each. A split over domains that is uneven by no more than
 *    may be is left as it is.
 */
import { assert } from "@kcp-ts/machinery/base";

export interface ClusterWeightInfo {
  readonly name: string;
  /** Takes part. One that does not gets nothing. */
  readonly ready: boolean;
  /** Relative to the others; 1 if left out. Positive. */
  readonly weight?: number | undefined;
  /** Replicas that it has room for; unbounded if left out. */
  readonly capacity?: number | undefined;
  /** Replicas that it can have at all; unbounded if left out. */
  readonly room?: number | undefined;
  /** Which part of the world it is in, the widest first. As many for each cluster. */
  readonly domains?: readonly string[] | undefined;
  /** Keeps at most what it has. */
  readonly cordoned?: boolean | undefined;
  /** Keeps at least what it has, as far as there is room for it. */
  readonly keeps?: boolean | undefined;
  /** What it has now. */
  readonly current: number;
}

/** The greatest that people may say. */
export const weightMax = 1000;
/** Above this, sums of weights times replicas would no longer be exact. */
const scaledWeightMax = 1_000_000;

export function distribute(
  replicas: number,
  clusters: readonly ClusterWeightInfo[],
  /** By how much the domains of each level may differ before something is moved; 1 if left out. */
  maxSkews: readonly number[] = [],
): ReadonlyMap<string, number> {
  let known = clusters;
  for (;;) {
    const shares = distributeOnce(replicas, known, maxSkews);
    // What a cordoned cluster gives up it cannot have again: the others share with that in mind, or they would have to share once more.
    const isGivenUp = ({ name, ready, cordoned, current }: ClusterWeightInfo) =>
      ready && cordoned === true && current > (shares.get(name) ?? 0);
    if (!known.some(isGivenUp)) return shares;
    known = known.map((one) =>
      isGivenUp(one) ? { ...one, current: shares.get(one.name) ?? 0 } : one,
    );
  }
}

function distributeOnce(
  replicas: number,
  clusters: readonly ClusterWeightInfo[],
  maxSkews: readonly number[],
): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const { name } of clusters) shares.set(name, 0);
  const ready = clusters.filter((one) => one.ready).map(weightedClusterOf);
  const isTooMuch = sumOf(ready, ({ floor }) => floor) > replicas;
  const members = isTooMuch ? ready.map((one) => ({ ...one, floor: 0 })) : ready;
  members.sort((a, b) => (a.name < b.name ? -1 : 1));
  const left = spread(replicas, members, shares, maxSkews);
  // There is more than room: those that can be overfilled are, by their weights.
  const open = members.filter(({ isOpen }) => isOpen);
  if (left > 0) spread(left, open.map(overfilled(shares)), shares, maxSkews);
  return shares;
}

interface WeightedCluster {
  readonly name: string;
  readonly weight: number;
  /** What it has at least, and at most. */
  readonly floor: number;
  readonly room: number;
  /** What it can be overfilled to. */
  readonly limit: number;
  readonly isOpen: boolean;
  readonly current: number;
  readonly domains: readonly string[];
}

function weightedClusterOf(share: ClusterWeightInfo): WeightedCluster {
  const { name, weight = 1, cordoned = false, keeps = false, current, domains = [] } = share;
  const { capacity = Number.POSITIVE_INFINITY, room: most = Number.POSITIVE_INFINITY } = share;
  assert(weight > 0 && weight <= scaledWeightMax, `weight ${weight} of ${name}`);
  const limit = Math.max(0, most);
  const wanted = Math.max(0, Math.min(capacity, limit));
  const room = cordoned ? Math.min(wanted, current) : wanted;
  const floor = keeps ? Math.min(current, room) : 0;
  return { name, weight, floor, room, limit, isOpen: !cordoned, current, domains };
}

function overfilled(
  shares: ReadonlyMap<string, number>,
): (member: WeightedCluster) => WeightedCluster {
  return (member) => {
    const share = shares.get(member.name) ?? 0;
    const current = Math.max(0, member.current - share);
    return { ...member, floor: 0, room: member.limit - share, current };
  };
}

/** Over the domains of the widest level, and in each of them over those of the next. Adds to the shares; returns what found no room. */
function spread(
  replicas: number,
  members: readonly WeightedCluster[],
  shares: Map<string, number>,
  maxSkews: readonly number[],
  level = 0,
): number {
  if (!members.some(({ domains }) => domains.length > level))
    return fill(replicas, members, shares);
  const inside = new Map<string, WeightedCluster[]>();
  for (const member of members) {
    const domain = member.domains[level] ?? "";
    const known = inside.get(domain);
    if (known === undefined) inside.set(domain, [member]);
    else known.push(member);
  }
  const outside = [...inside].map(([name, all]) => domainOf(name, all));
  outside.sort((a, b) => (a.name < b.name ? -1 : 1));
  const parts = keptDomains(replicas, outside, maxSkews[level] ?? 1) ?? new Map<string, number>();
  const left = parts.size > 0 ? 0 : fill(replicas, outside, parts);
  for (const [domain, all] of inside) {
    const share = parts.get(domain) ?? 0;
    if (share > 0) spread(share, all, shares, maxSkews, level + 1);
  }
  return left;
}

/** All domains weigh the same, however many clusters they have. */
function domainOf(name: string, members: readonly WeightedCluster[]): WeightedCluster {
  return {
    name,
    weight: 1,
    floor: sumOf(members, ({ floor }) => floor),
    room: sumOf(members, ({ room }) => room),
    limit: sumOf(members, ({ limit }) => limit),
    isOpen: members.some(({ isOpen }) => isOpen),
    current: sumOf(members, ({ current, room }) => Math.min(current, room)),
    domains: [],
  };
}

/** As it is, if that is even enough. */
function keptDomains(
  replicas: number,
  domains: readonly WeightedCluster[],
  maxSkew: number,
): Map<string, number> | undefined {
  const kept = new Map(domains.map(({ name, current }) => [name, current]));
  const counts = [...kept.values()];
  const isWhole = counts.reduce((sum, count) => sum + count, 0) === replicas;
  const isEven = Math.max(...counts) - Math.min(...counts) <= maxSkew;
  return isWhole && isEven ? kept : undefined;
}

/** Adds to the shares; returns what found no room. */
function fill(
  replicas: number,
  members: readonly WeightedCluster[],
  shares: Map<string, number>,
): number {
  let left = replicas;
  let open = members;
  for (;;) {
    const fixed = fixedOf(left, open);
    if (fixed.size === 0) break;
    for (const [{ name }, share] of fixed) add(shares, name, share);
    left -= sumOf([...fixed.values()], (share) => share);
    open = open.filter((member) => !fixed.has(member));
  }
  if (open.length === 0) return left;
  round(left, open, shares);
  return 0;
}

/**
 * A cluster whose quota is more than its room gets its room, one whose quota is less than it keeps gets that, and the others share the rest anew. Both change what
 * the others are owed, in opposite directions, so only the side that changes it more is settled at a time.
 */
function fixedOf(
  left: number,
  open: readonly WeightedCluster[],
): ReadonlyMap<WeightedCluster, number> {
  const weights = sumOf(open, ({ weight }) => weight);
  const beyond = ({ weight }: WeightedCluster, share: number) => share * weights - left * weight;
  const full = open.filter((member) => beyond(member, member.room) <= 0);
  const kept = open.filter((member) => member.floor > 0 && beyond(member, member.floor) >= 0);
  const lacking = sumOf(full, (member) => -beyond(member, member.room));
  const exceeding = sumOf(kept, (member) => beyond(member, member.floor));
  return new Map<WeightedCluster, number>([
    ...(lacking >= exceeding ? full : []).map((member) => [member, member.room] as const),
    ...(exceeding >= lacking ? kept : []).map((member) => [member, member.floor] as const),
  ]);
}

function round(
  replicas: number,
  members: readonly WeightedCluster[],
  shares: Map<string, number>,
): void {
  const weights = sumOf(members, ({ weight }) => weight);
  const quotas = members.map(({ name, weight, current }) => {
    const exact = replicas * weight;
    const floor = Math.floor(exact / weights);
    return { name, current, floor, rest: exact - floor * weights };
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
