/**
 * The desired assignment of a workload's replicas to clusters, from the current assignment and the
 * states of the clusters.
 */

import type { ClusterState } from "../cluster-state.ts";
import {
  type ClusterShare,
  isFailed,
  moveRecordFor,
  type PlanInput,
  type PlanRequest,
  type RolloutBudget,
  sumOf,
} from "./cluster-share.ts";
import { type ClusterWeightInfo, distribute } from "./distribute.ts";

/**
 * A Recovering cluster gets no additional replicas until it has been Ready for long enough, unless
 * no Ready cluster exists. A cluster without a copy has nothing to recover.
 */
export function eligibleClusters(shares: readonly ClusterShare[]): ReadonlySet<ClusterShare> {
  const isNobodyElse = !shares.some(({ state }) => state === "Ready");
  const may = ({ state, copy }: ClusterShare) =>
    state === "Ready" || (state === "Recovering" && (isNobodyElse || copy === undefined));
  return new Set(shares.filter(may));
}

export interface ReplicaAssignment {
  readonly replicas: ReadonlyMap<string, number>;
  /**
   * Clusters whose copies did not become available in time: the replicas return to the previous
   * clusters.
   */
  readonly rolledBack: ReadonlySet<string>;
}

/**
 * A failed move is rolled back only if all of its replicas fit into other clusters, or into the
 * clusters that they came from.
 */
export function assignReplicas(planRequest: PlanRequest): ReplicaAssignment {
  const failed = planRequest.input.clusters.filter((one) => isFailed(planRequest, one));
  const rolledBack = new Set(failed.map(({ name }) => name));
  const replicas = shared(planRequest, rolledBack);
  if (rolledBack.size === 0 || sumOf([...replicas.values()]) >= placeableOf(planRequest.input))
    return { replicas, rolledBack };
  return { replicas: shared(planRequest, new Set()), rolledBack: new Set() };
}

/** The requested replicas, up to the limit over all clusters. */
function placeableOf({ replicas, maxTotal = replicas }: PlanInput): number {
  return Math.min(replicas, maxTotal);
}

function shared(
  planRequest: PlanRequest,
  givenUp: ReadonlySet<string>,
): ReadonlyMap<string, number> {
  const { budget, input } = planRequest;
  const { clusters } = input;
  const replicas = placeableOf(input);
  const pinned = clusters.filter(({ copy }) => copy?.isUnmanaged === true);
  const fixed = sumOf(pinned, ({ copy }) => copy?.replicas ?? 0);
  const free = clusters.filter((share) => !pinned.includes(share));
  const toShare = Math.max(0, replicas - fixed);
  const stays = budget.isPaused || budget.isStopBeforeStart;
  const goal = stays
    ? retainedAssignment(input, budget, free, toShare)
    : openAssignment(planRequest, givenUp, free, toShare);
  for (const { name, copy } of pinned) goal.set(name, copy?.replicas ?? 0);
  return goal;
}

function openAssignment(
  planRequest: PlanRequest,
  givenUp: ReadonlySet<string>,
  shares: readonly ClusterShare[],
  replicas: number,
): Map<string, number> {
  const open = eligibleClusters(shares);
  const shareOf = (share: ClusterShare): ClusterWeightInfo => {
    const { name, weight, capacity, maxReplicas, domains } = share;
    const isGivenUp = givenUp.has(name);
    const before = isGivenUp ? moveRecordFor(planRequest, share)?.from : stayingOf(share);
    const ready = takesPart.has(share.state);
    const isCordoned = isGivenUp || !open.has(share);
    // A Cordoned cluster gives up no replicas for balance; a scale-down may take them from any
    // cluster.
    const retained =
      !isGivenUp && share.state === "Cordoned" && planRequest.input.scaledDownBy <= 0;
    return {
      name,
      ready,
      weight,
      capacity,
      maxReplicas,
      domains,
      isCordoned,
      retained,
      current: before ?? 0,
    };
  };
  const goal = new Map(distribute(replicas, shares.map(shareOf), planRequest.input.maxSkews));
  const unscheduled = replicas - sumOf([...goal.values()]);
  if (unscheduled <= 0 || givenUp.size === 0) return goal;
  // No other cluster takes these replicas: they stay where they are, or return if only the
  // workload's author excluded their cluster.
  const homes = shares.filter(({ state }) => state === "Draining");
  const back = distribute(
    unscheduled,
    homes.map((one) => {
      const has = stayingOf(one);
      const current =
        one.mayMoveBack === true ? (moveRecordFor(planRequest, one)?.from ?? has) : has;
      return { name: one.name, ready: true, isCordoned: true, current };
    }),
  );
  for (const [name, share] of back) goal.set(name, (goal.get(name) ?? 0) + share);
  return goal;
}

/**
 * Every cluster retains its replicas, except clusters that must give them up; only missing or
 * surplus replicas are distributed.
 */
function retainedAssignment(
  { scaledDownBy, maxSkews }: PlanInput,
  { isPaused }: RolloutBudget,
  members: readonly ClusterShare[],
  replicas: number,
): Map<string, number> {
  const keeps = ({ state }: ClusterShare) =>
    takesPart.has(state) || (isPaused && state === "Draining");
  const keepers = members.filter(keeps);
  const kept = sumOf(keepers, ({ copy }) => copy?.replicas ?? 0);
  const goal = new Map(members.map(({ name }) => [name, 0] as [string, number]));
  for (const { name, copy } of keepers) goal.set(name, copy?.replicas ?? 0);
  const isTooMany = kept > replicas && (!isPaused || scaledDownBy > 0);
  if (isTooMany) for (const [name, share] of keptAmong(keepers, replicas)) goal.set(name, share);
  if (kept >= replicas) return goal;
  const open = eligibleClusters(members);
  const shares = [...open].map(({ name, weight, capacity, maxReplicas, domains, copy }) => {
    const left = (most: number | undefined) =>
      most === undefined ? undefined : Math.max(0, most - (copy?.replicas ?? 0));
    return {
      name,
      ready: true,
      weight,
      capacity: left(capacity),
      maxReplicas: left(maxReplicas),
      domains,
      current: 0,
    };
  });
  for (const [name, share] of distribute(replicas - kept, shares, maxSkews))
    goal.set(name, (goal.get(name) ?? 0) + share);
  return goal;
}

/**
 * Distributes fewer replicas than the clusters have. A copy that is being removed is created again
 * only when the other clusters have too few.
 */
function keptAmong(
  keepers: readonly ClusterShare[],
  replicas: number,
): ReadonlyMap<string, number> {
  const isGoing = ({ copy }: ClusterShare) => copy?.isDeleting === true;
  const shareOf = ({ name, state, maxReplicas, copy }: ClusterShare): ClusterWeightInfo => {
    const current = copy?.replicas ?? 0;
    const most = takesPart.has(state) ? maxReplicas : undefined;
    return { name, ready: true, isCordoned: true, maxReplicas: most, current };
  };
  const staying = keepers.filter((one) => !isGoing(one)).map(shareOf);
  const kept = distribute(replicas, staying);
  const left = replicas - sumOf([...kept.values()]);
  return new Map([...kept, ...distribute(left, keepers.filter(isGoing).map(shareOf))]);
}

/** A copy that is being removed does not attract replicas to its cluster. */
function stayingOf({ copy }: ClusterShare): number {
  return copy === undefined || copy.isDeleting ? 0 : copy.replicas;
}

const takesPart: ReadonlySet<ClusterState> = new Set([
  "Ready",
  "Cordoned",
  "Recovering",
  "NotReady",
]);
