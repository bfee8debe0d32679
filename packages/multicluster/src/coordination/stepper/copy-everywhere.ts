/**
 * One copy in every eligible cluster. Nothing moves between clusters: each copy runs for its own
 * cluster.
 *
 * Invariants:
 *
 * 1. A Draining cluster keeps its copy while no other cluster has an available one: the last copy
 *    is not removed. An unavailable copy is removed, unless no feasible cluster exists. A cluster
 *    without capacity for a copy counts as unscheduled: it gets its copy when capacity is
 *    available.
 * 2. The copy in an Unreachable cluster stays unchanged.
 * 3. In a volume migration, the source copy stays until the destination copy may run: a rejected
 *    migration stops nothing.
 */
import { eligibleClusters } from "./assign-replicas.ts";
import {
  type ClusterShare,
  isToBeDrained,
  isUnreachable,
  maxAvailable,
  minAvailable,
  type VolumeMigration,
} from "./cluster-share.ts";
import type { ProposedStep } from "./plan.ts";

export interface EverywhereInput {
  readonly clusters: readonly ClusterShare[];
  readonly migration?: VolumeMigration | undefined;
}

export function copyEverywhereStep({ clusters, migration }: EverywhereInput): ProposedStep {
  const open = eligibleClusters(clusters);
  const goal = new Map<string, number>();
  for (const share of clusters) {
    const isKept = share.copy?.isDeleting === false && !isToBeDrained(share);
    const hasRoom = share.maxReplicas === undefined || share.maxReplicas >= 1;
    if ((open.has(share) && hasRoom) || isKept) goal.set(share.name, 1);
  }
  const heir = clusters.find(({ name }) => name === migration?.to);
  const isTaken = heir?.copy?.isVolumeGateOpen === true && !heir.copy.isDeleting;
  const isReplaced = clusters.some((one) => goal.has(one.name) && minAvailable(one) > 0);
  const next = new Map<string, number | "remove">();
  let surplus = 0;
  for (const share of clusters) {
    const { name, copy } = share;
    if (copy?.isDeleting === true || copy?.isUnmanaged === true) continue;
    // The migration source stops the copy before the destination runs it.
    const isLast = isReplaced || name === migration?.from ? false : mayBeLast(share);
    const isAwaited = (name === migration?.from && !isTaken) || isLast;
    const isKept = isUnreachable(share) || goal.size === 0 || isAwaited;
    if (isLast && !goal.has(name)) surplus++;
    if (goal.has(name) || (copy !== undefined && isKept)) {
      next.set(name, 1);
    } else if (copy !== undefined) {
      next.set(name, "remove");
    }
  }
  const crowded = clusters.filter((one) => open.has(one) && !goal.has(one.name)).length;
  const unscheduled = Math.max(crowded, goal.size === 0 ? 1 : 0);
  return { next, goal, unscheduled, surplus, deferred: 0 };
}

/**
 * The replicas that a Draining cluster may have available. No decision relies on a cluster that is
 * Unreachable or Unregistered.
 */
function mayBeLast(share: ClusterShare): boolean {
  return share.state === "Draining" && maxAvailable(share) > 0;
}
