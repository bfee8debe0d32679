/**
 * The complete workload in one cluster, and never in two reachable clusters: for workloads that
 * must not run twice, such as schedules. A move first stops the old copy (its desired replicas
 * become 0, which a kind may implement as suspension), then removes it, and starts the new copy
 * when the old one is deleted.
 *
 * `available` counts the running replicas of a copy; a copy is stopped when its desired replicas
 * and its running replicas are 0.
 *
 * Invariants:
 *
 * 1. No copy starts while a copy exists in another cluster that is not Unreachable.
 * 2. A copy that may stay stays: no better cluster is worth the interruption.
 * 3. The copy in an Unreachable cluster stays unchanged, and another cluster replaces it; with
 *    StopBeforeStart, only after the agent has certainly stopped it and the copy says 0 replicas.
 *    When the cluster is back, the replacement stays.
 * 4. While no feasible cluster exists, nothing is removed.
 * 5. In a volume migration, the volumes decide: the new copy is created immediately, and runs when
 *    its volumes are in its cluster, which requires that the old copy has stopped. The old copy
 *    stays until then, so that a rejected migration stops nothing.
 */
import { eligibleClusters } from "./assign-replicas.ts";
import {
  type ClusterCopy,
  type ClusterShare,
  isAwaitingFencing,
  isStoppedByFencing,
  isToBeDrained,
  isUnreachable,
  type VolumeMigration,
} from "./cluster-share.ts";
import { distribute } from "./distribute.ts";
import type { ProposedStep } from "./plan.ts";

export interface SingleInput {
  /** 1, or 0 for a finished workload that must not start again. */
  readonly replicas: number;
  readonly clusters: readonly ClusterShare[];
  readonly migration?: VolumeMigration | undefined;
}

interface ClusterWithCopy extends ClusterShare {
  readonly copy: ClusterCopy;
}

/** `canRest`: a copy can be stopped before it is removed. */
export function moveSingle(input: SingleInput, canRest: boolean): ProposedStep {
  const { replicas, clusters, migration } = input;
  if (migration !== undefined && replicas > 0 && clusters.some(isHomeOf(migration)))
    return migrate(input, migration, canRest);
  const next = new Map<string, number | "remove">();
  const holders = clusters.filter((share): share is ClusterWithCopy => share.copy !== undefined);
  const chosen = stayingOf(holders)?.name ?? (replicas > 0 ? newPlace(clusters) : undefined);
  const goal = new Map(chosen === undefined || replicas === 0 ? [] : [[chosen, replicas]]);
  const others = holders.filter(({ name }) => name !== chosen);
  for (const share of others) {
    const { name, copy } = share;
    if (copy.isDeleting || copy.isUnmanaged) continue;
    if (isStoppedByFencing(share) && chosen !== undefined) next.set(name, canRest ? 0 : "remove");
    else if (isUnreachable(share) || (chosen === undefined && replicas > 0))
      next.set(name, copy.replicas);
    else if (!canRest || isAtRest(share)) next.set(name, "remove");
    else next.set(name, 0);
  }
  const isInTheWay = others.some((share) => {
    const { copy } = share;
    if (isStoppedByFencing(share)) return !copy.isDeleting && !(canRest && copy.replicas === 0);
    return isAwaitingFencing(share) || !isUnreachable(share);
  });
  const current = holders.find(({ name }) => name === chosen)?.copy;
  const isLeft = current?.isDeleting === true || current?.isUnmanaged === true;
  if (chosen !== undefined && !isLeft && (current !== undefined || !isInTheWay)) {
    // A finished workload keeps its replicas.
    next.set(
      chosen,
      current !== undefined && isInTheWay ? current.replicas : Math.max(1, replicas),
    );
  }
  return {
    next,
    goal,
    unscheduled: replicas > 0 && chosen === undefined ? replicas : 0,
    surplus: chosen === undefined ? 0 : others.filter((share) => !isUnreachable(share)).length,
    deferred: 0,
  };
}

function isHomeOf({ from }: VolumeMigration): (share: ClusterShare) => boolean {
  return ({ name, copy }) => name === from && copy !== undefined && !copy.isDeleting;
}

function migrate(
  { replicas, clusters }: SingleInput,
  to: VolumeMigration,
  canRest: boolean,
): ProposedStep {
  const heir = clusters.find(({ name }) => name === to.to);
  const isTaken = heir?.copy?.isVolumeGateOpen === true && !heir.copy.isDeleting;
  const others = clusters.filter(({ name }) => name !== to.to && (isTaken || name !== to.from));
  const { next } = moveSingle({ replicas: 0, clusters: others }, canRest);
  const steps = new Map(next);
  if (!isTaken) steps.set(to.from, copyOfShare(clusters, to.from)?.replicas ?? replicas);
  if (heir?.copy?.isDeleting !== true) steps.set(to.to, replicas);
  return {
    next: steps,
    goal: new Map([[to.to, replicas]]),
    unscheduled: 0,
    surplus: others.filter(({ copy }) => copy !== undefined).length + (isTaken ? 0 : 1),
    deferred: 0,
  };
}

function copyOfShare(shares: readonly ClusterShare[], name: string): ClusterCopy | undefined {
  return shares.find((share) => share.name === name)?.copy;
}

/**
 * For workloads that run to completion: a Draining cluster keeps a running copy, and no other
 * cluster starts it.
 */
export function finishWithoutMove<Input extends SingleInput>(input: Input): Input {
  const isBusy = ({ state, copy }: ClusterShare) =>
    state === "Draining" && (copy?.available ?? 0) > 0;
  const clusters = input.clusters.map(
    (share): ClusterShare => (isBusy(share) ? { ...share, state: "Cordoned" } : share),
  );
  const isLeft = input.clusters.some(
    ({ name, ...member }) => name === input.migration?.from && isBusy({ name, ...member }),
  );
  return { ...input, clusters, ...(isLeft ? { migration: undefined } : {}) };
}

/** Of several copies that may stay, the most reliable one. */
function stayingOf(holders: readonly ClusterWithCopy[]): ClusterWithCopy | undefined {
  const rank = ({ state, isTrusted, copy }: ClusterWithCopy) =>
    (copy.isUnmanaged ? 64 : 0) +
    (copy.wasUnreachable === true ? 0 : 32) +
    (copy.replicas > 0 ? 16 : 0) +
    (state === "Ready" && isTrusted !== false ? 4 : 0) +
    (state === "Cordoned" ? 2 : 0) +
    (state === "NotReady" ? 0 : 1);
  return holders
    .filter((share) => !isToBeDrained(share) && !isUnreachable(share) && !share.copy.isDeleting)
    .sort((a, b) => rank(b) - rank(a) || (a.name < b.name ? -1 : 1))[0];
}

function newPlace(members: readonly ClusterShare[]): string | undefined {
  const open = [...eligibleClusters(members)];
  // A cluster to which the author gave capacity 0 is used only when no other cluster is left, as in
  // all plans.
  const isNowhereElse = open.every(({ capacity }) => capacity === 0);
  const shares = open.map(({ name, weight, capacity, maxReplicas }) => ({
    name,
    ready: capacity !== 0 || isNowhereElse,
    weight,
    capacity,
    maxReplicas,
    current: 0,
  }));
  return [...distribute(1, shares)].find(([, share]) => share > 0)?.[0];
}

/**
 * A copy in an Unregistered cluster cannot be stopped; nor can a copy in a cluster that is
 * Unreachable and to be drained.
 */
function isAtRest({ state, copy }: ClusterWithCopy): boolean {
  if (state === "Unregistered" || state === "Unreachable") return true;
  return copy.replicas === 0 && copy.available === 0;
}
