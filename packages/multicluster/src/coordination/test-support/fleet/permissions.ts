/** What may be done with a cluster for a whole, by what people say; of two wishes that may have been read, either counts. */
import { evictAnnotation } from "../../../api/index.ts";
import { placementOf } from "../../placement.ts";
import type { Workload } from "../../workload.ts";
import type { Fleet, FleetTarget } from "./fleet.ts";
import type { Seen, Whole } from "./whole.ts";

/** Somebody wants it out of there. */
export function mustLeave(fleet: Fleet, whole: Whole, cluster: string, seen: Seen): boolean {
  const target = fleet.targets.get(cluster);
  if (target === undefined || fleet.judgement(cluster).isLeaving) return true;
  if (target.drainSpec !== undefined && isTurnOf(whole, cluster)) return true;
  return wishes(whole, seen).some((parent) => !isSelected(parent, target));
}

/** It takes more. */
export function isOpenTo(fleet: Fleet, whole: Whole, target: FleetTarget, seen: Seen): boolean {
  const { standing } = fleet.judgement(target.name);
  const isOpen = standing === "accepting" || standing === "settling";
  return isOpen && wishes(whole, seen).some((parent) => isSelected(parent, target));
}

export function isSelected(
  { metadata }: Workload,
  { name, labels }: Pick<FleetTarget, "name" | "labels">,
): boolean {
  const { selector, weights } = placementOf(metadata.annotations);
  return selector?.matches(labels) !== false && weights.get(name) !== 0;
}

function wishes(whole: Whole, { parent }: Seen): readonly Workload[] {
  return [whole.parent, parent];
}

function isTurnOf(whole: Whole, cluster: string): boolean {
  return whole
    .partsIn(cluster)
    .some(({ metadata }) => metadata.annotations?.[evictAnnotation] === "true");
}
