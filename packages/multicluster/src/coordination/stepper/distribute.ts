/**
 * The arithmetic of distributing replicas over clusters, without clocks, objects, or history
 * besides the current replicas of each cluster.
 *
 * Invariants:
 *
 * 1. The sum equals the requested replicas whenever an eligible cluster that is not cordoned
 *    exists, and capacity suffices.
 * 2. The replicas of a cluster are its exact quota (by weight, among clusters with capacity)
 *    rounded down or up; among all such assignments the result moves the fewest replicas.
 * 3. Capacity is exceeded only when all of it is used up, and then by all clusters alike;
 *    maxReplicas is never exceeded. A Cordoned cluster never scales up.
 * 4. The order of the clusters does not matter: names decide ties.
 * 5. A cluster that retains its replicas gives none up to other clusters, unless the retained
 *    replicas exceed the requested ones.
 * 6. Where clusters are in topology domains, replicas are distributed evenly over the domains
 *    first, and then over the clusters of each domain. An assignment whose skew is within maxSkew
 *    stays unchanged.
 */
import { assert } from "@kcp-ts/machinery/base";
import { sumOf } from "./cluster-share.ts";

export interface ClusterWeightInfo {
  readonly name: string;
  /** Whether the cluster is eligible; other clusters get no replicas. */
  readonly ready: boolean;
  /** The positive relative weight; 1 if omitted. */
  readonly weight?: number | undefined;
  /** The preferred limit on replicas; unlimited if omitted. */
  readonly capacity?: number | undefined;
  /** The strict limit on replicas; unlimited if omitted. */
  readonly maxReplicas?: number | undefined;
  /**
   * The topology domains of the cluster, the widest first; every cluster has the same number of
   * levels.
   */
  readonly domains?: readonly string[] | undefined;
  /** The cluster keeps at most its current replicas. */
  readonly isCordoned?: boolean | undefined;
  /** The cluster keeps at least its current replicas, as far as capacity suffices. */
  readonly retained?: boolean | undefined;
  /** The replicas that the cluster has now. */
  readonly current: number;
}

/** The largest weight that users may set. */
export const weightMax = 1000;
/** Above this, sums of weights times replicas would no longer be exact. */
const scaledWeightMax = 1_000_000;

export function distribute(
  replicas: number,
  clusters: readonly ClusterWeightInfo[],
  /** The largest permitted skew of each topology level before replicas move; 1 if omitted. */
  maxSkews: readonly number[] = [],
): ReadonlyMap<string, number> {
  let known = clusters;
  for (;;) {
    const shares = distributeOnce(replicas, known, maxSkews);
    // A Cordoned cluster cannot get replicas back after giving them up: the distribution runs again
    // without them, so that it stays stable.
    const isGivenUp = ({ name, ready, isCordoned, current }: ClusterWeightInfo) =>
      ready && isCordoned === true && current > (shares.get(name) ?? 0);
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
  // The replicas exceed the capacity: eligible clusters are filled beyond it, by weight.
  const open = members.filter(({ isOpen }) => isOpen);
  if (left > 0) spread(left, open.map(overfilled(shares)), shares, maxSkews);
  return shares;
}

interface WeightedCluster {
  readonly name: string;
  readonly weight: number;
  /** The least and the most replicas of the cluster. */
  readonly floor: number;
  readonly maxReplicas: number;
  /** The most replicas of the cluster when capacity is exceeded. */
  readonly limit: number;
  readonly isOpen: boolean;
  readonly current: number;
  readonly domains: readonly string[];
}

function weightedClusterOf(share: ClusterWeightInfo): WeightedCluster {
  const { name, weight = 1, isCordoned = false, retained = false, current, domains = [] } = share;
  const { capacity = Number.POSITIVE_INFINITY, maxReplicas: most = Number.POSITIVE_INFINITY } =
    share;
  assert(weight > 0 && weight <= scaledWeightMax, `weight ${weight} of ${name}`);
  const limit = Math.max(0, most);
  const wanted = Math.max(0, Math.min(capacity, limit));
  const maxReplicas = isCordoned ? Math.min(wanted, current) : wanted;
  const floor = retained ? Math.min(current, maxReplicas) : 0;
  return { name, weight, floor, maxReplicas, limit, isOpen: !isCordoned, current, domains };
}

function overfilled(
  shares: ReadonlyMap<string, number>,
): (weightedCluster: WeightedCluster) => WeightedCluster {
  return (cluster) => {
    const share = shares.get(cluster.name) ?? 0;
    const current = Math.max(0, cluster.current - share);
    return { ...cluster, floor: 0, maxReplicas: cluster.limit - share, current };
  };
}

/**
 * Distributes over the domains of the widest level, and within each over those of the next level.
 * Adds to the shares; returns the replicas without capacity.
 */
function spread(
  replicas: number,
  clusters: readonly WeightedCluster[],
  shares: Map<string, number>,
  maxSkews: readonly number[],
  level = 0,
): number {
  if (!clusters.some(({ domains }) => domains.length > level))
    return fill(replicas, clusters, shares);
  const inside = new Map<string, WeightedCluster[]>();
  for (const cluster of clusters) {
    const domain = cluster.domains[level] ?? "";
    const known = inside.get(domain);
    if (known === undefined) inside.set(domain, [cluster]);
    else known.push(cluster);
  }
  const outside = [...inside].map(([name, all]) => domainOf(name, all));
  outside.sort((a, b) => (a.name < b.name ? -1 : 1));
  const copies = keptDomains(replicas, outside, maxSkews[level] ?? 1) ?? new Map<string, number>();
  const left = copies.size > 0 ? 0 : fill(replicas, outside, copies);
  for (const [domain, all] of inside) {
    const share = copies.get(domain) ?? 0;
    if (share > 0) spread(share, all, shares, maxSkews, level + 1);
  }
  return left;
}

/** All domains have the same weight, however many clusters they contain. */
function domainOf(name: string, clusters: readonly WeightedCluster[]): WeightedCluster {
  return {
    name,
    weight: 1,
    floor: sumOf(clusters, ({ floor }) => floor),
    maxReplicas: sumOf(clusters, ({ maxReplicas }) => maxReplicas),
    limit: sumOf(clusters, ({ limit }) => limit),
    isOpen: clusters.some(({ isOpen }) => isOpen),
    current: sumOf(clusters, ({ current, maxReplicas }) => Math.min(current, maxReplicas)),
    domains: [],
  };
}

/** Keeps the current distribution over the domains if its skew is permitted. */
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

/** Adds to the shares; returns the replicas without capacity. */
function fill(
  replicas: number,
  clusters: readonly WeightedCluster[],
  shares: Map<string, number>,
): number {
  let left = replicas;
  let open = clusters;
  for (;;) {
    const fixed = fixedOf(left, open);
    if (fixed.size === 0) break;
    for (const [{ name }, share] of fixed) add(shares, name, share);
    left -= sumOf([...fixed.values()], (share) => share);
    open = open.filter((cluster) => !fixed.has(cluster));
  }
  if (open.length === 0) return left;
  round(left, open, shares);
  return 0;
}

/**
 * A cluster whose quota exceeds its capacity gets its capacity, a cluster whose quota is below its
 * retained replicas gets these, and the other clusters share the rest. Both cases change the quotas
 * of the others, in opposite directions, so each round fixes only the case with the larger effect.
 */
function fixedOf(
  left: number,
  open: readonly WeightedCluster[],
): ReadonlyMap<WeightedCluster, number> {
  const weights = sumOf(open, ({ weight }) => weight);
  const beyond = ({ weight }: WeightedCluster, share: number) => share * weights - left * weight;
  const full = open.filter((cluster) => beyond(cluster, cluster.maxReplicas) <= 0);
  const kept = open.filter((cluster) => cluster.floor > 0 && beyond(cluster, cluster.floor) >= 0);
  const lacking = sumOf(full, (cluster) => -beyond(cluster, cluster.maxReplicas));
  const exceeding = sumOf(kept, (cluster) => beyond(cluster, cluster.floor));
  return new Map<WeightedCluster, number>([
    ...(lacking >= exceeding ? full : []).map((cluster) => [cluster, cluster.maxReplicas] as const),
    ...(exceeding >= lacking ? kept : []).map((cluster) => [cluster, cluster.floor] as const),
  ]);
}

function round(
  replicas: number,
  clusters: readonly WeightedCluster[],
  shares: Map<string, number>,
): void {
  const weights = sumOf(clusters, ({ weight }) => weight);
  const quotas = clusters.map(({ name, weight, current }) => {
    const exact = replicas * weight;
    const floor = Math.floor(exact / weights);
    return { name, current, floor, rest: exact - floor * weights };
  });
  let over = replicas - sumOf(quotas, ({ floor }) => floor);
  for (const { name, floor } of quotas) add(shares, name, floor);
  // The remaining replicas go to clusters that have them already, then to clusters with the largest
  // remainder.
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
