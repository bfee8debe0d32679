/** What may be done with a cluster for a whole, by what people say; of two wishes that may have been read, either counts. */
import { evictAnnotation } from "../../../api/index.ts";
import { placementOf } from "../../placement.ts";
import type { Workload } from "../../workload.ts";
import type { ClusterSet, SimulatedTarget } from "./fleet.ts";
import type { ObservedWorkload, SimulatedWorkload } from "./whole.ts";

/** Somebody wants it out of there. */
export function mustMove(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  cluster: string,
  seen: ObservedWorkload,
): boolean {
  const target = fleet.targets.get(cluster);
  if (target === undefined || fleet.judgement(cluster).isLeaving) return true;
  if (target.drainSpec !== undefined && isDrainTurnOf(whole, cluster)) return true;
  return preferencesOf(whole, seen).some((parent) => !isSelected(parent, target));
}

/** It takes more. */
export function isOpenTo(
  fleet: ClusterSet,
  whole: SimulatedWorkload,
  target: SimulatedTarget,
  seen: ObservedWorkload,
): boolean {
  const { standing } = fleet.judgement(target.name);
  const isOpen = standing === "accepting" || standing === "settling";
  return isOpen && preferencesOf(whole, seen).some((parent) => isSelected(parent, target));
}

export function isSelected(
  { metadata }: Workload,
  { name, labels }: Pick<SimulatedTarget, "name" | "labels">,
): boolean {
  const { selector, weights } = placementOf(metadata.annotations);
  return selector?.matches(labels) !== false && weights.get(name) !== 0;
}

function preferencesOf(
  whole: SimulatedWorkload,
  { parent }: ObservedWorkload,
): readonly Workload[] {
  return [whole.parent, parent];
}

function isDrainTurnOf(whole: SimulatedWorkload, cluster: string): boolean {
  return whole
    .partsIn(cluster)
    .some(({ metadata }) => metadata.annotations?.[evictAnnotation] === "true");
}
