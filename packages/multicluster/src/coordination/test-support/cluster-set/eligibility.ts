/**
 * The permitted actions in a cluster for a workload, by the specs of users; of two specs that may
 * have been read, either counts.
 */
import { evictAnnotation } from "../../../api/index.ts";
import { placementOf } from "../../placement.ts";
import type { Workload } from "../../workload.ts";
import type { ClusterSet, SimulatedTarget } from "./cluster-set.ts";
import type { ObservedWorkload, SimulatedWorkload } from "./simulated-workload.ts";

/** Whether the workload must leave the cluster. */
export function mustMove(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  cluster: string,
  observed: ObservedWorkload,
): boolean {
  const target = clusterSet.targets.get(cluster);
  if (target === undefined || clusterSet.evaluation(cluster).isDraining) return true;
  if (target.drainSpec !== undefined && isDrainTurnOf(workload, cluster)) return true;
  return preferencesOf(workload, observed).some((parent) => !isSelected(parent, target));
}

/** Whether the cluster may get more replicas. */
export function isOpenTo(
  clusterSet: ClusterSet,
  workload: SimulatedWorkload,
  target: SimulatedTarget,
  observed: ObservedWorkload,
): boolean {
  const { state } = clusterSet.evaluation(target.name);
  const isOpen = state === "Ready" || state === "Recovering";
  return isOpen && preferencesOf(workload, observed).some((parent) => isSelected(parent, target));
}

export function isSelected(
  { metadata }: Workload,
  { name, labels }: Pick<SimulatedTarget, "name" | "labels">,
): boolean {
  const { selector, weights } = placementOf(metadata.annotations);
  return selector?.matches(labels) !== false && weights.get(name) !== 0;
}

function preferencesOf(
  workload: SimulatedWorkload,
  { parent }: ObservedWorkload,
): readonly Workload[] {
  return [workload.parent, parent];
}

function isDrainTurnOf(workload: SimulatedWorkload, cluster: string): boolean {
  return workload
    .copiesIn(cluster)
    .some(({ metadata }) => metadata.annotations?.[evictAnnotation] === "true");
}
