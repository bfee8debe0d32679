/**
 * The placement annotations of a workload, which its author writes:
 *
 *     workload.kcp.io/cluster-selector: region in (us, eu)
 *       selects clusters by the labels of their SyncTargets
 *     workload.kcp.io/cluster-weights: us-east1=3,us-west1=1
 *       relative weights of clusters; 0 excludes a cluster, 1 is the default
 *     workload.kcp.io/cluster-capacity: us-west1=4
 *       the most replicas of a cluster, as long as other clusters have capacity
 *
 * An annotation that cannot be parsed moves nothing: the assignment stays as it is until the author
 * repairs it.
 */
import {
  type LabelSelector,
  parseLabelSelector,
  SelectorSyntaxError,
} from "@kcp-ts/machinery/selectors";
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { PlacementError } from "./placement-error.ts";
import { type Failover, failoverOf, type Rollout, rolloutOf } from "./rollout-policy.ts";
import { weightMax } from "./stepper/distribute.ts";
import { replicasMax } from "./workload.ts";

export { PlacementError } from "./placement-error.ts";

export const selectorAnnotation = "workload.kcp.io/cluster-selector";
export const weightsAnnotation = "workload.kcp.io/cluster-weights";
export const capacityAnnotation = "workload.kcp.io/cluster-capacity";

export interface Placement {
  readonly selector: LabelSelector | undefined;
  readonly weights: ReadonlyMap<string, number>;
  readonly capacity: ReadonlyMap<string, number>;
  readonly rollout: Rollout;
  readonly failover: Failover;
}

/** The longest accepted annotation, in characters. */
export const placementTextMax = 16_384;

/**
 * Parses the annotations, with the policy's rollout and failover as defaults. Throws a
 * PlacementError that names the annotation.
 */
export function placementOf(
  annotations: StringMap | undefined,
  policy: { readonly rollout?: Rollout; readonly failover?: Failover } = {},
): Placement {
  const weights = amounts(annotations, weightsAnnotation, weightMax);
  const capacity = amounts(annotations, capacityAnnotation, replicasMax);
  const selector = selectorOf(annotations);
  const rollout = rolloutOf(annotations, policy.rollout);
  const failover = failoverOf(annotations, policy.failover);
  return { selector, weights, capacity, rollout, failover };
}

function selectorOf(annotations: StringMap | undefined): LabelSelector | undefined {
  const text = stringMember(annotations, selectorAnnotation);
  if (text === undefined || text.trim() === "") return undefined;
  try {
    return parseLabelSelector(text);
  } catch (error) {
    if (!(error instanceof SelectorSyntaxError)) throw error;
    throw new PlacementError(`annotation ${selectorAnnotation}: ${error.message}`);
  }
}

function amounts(
  annotations: StringMap | undefined,
  annotation: string,
  most: number,
): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const text = stringMember(annotations, annotation) ?? "";
  if (text.length > placementTextMax)
    throw new PlacementError(`annotation ${annotation}: more than ${placementTextMax} characters`);
  for (const piece of text.split(",")) {
    if (piece.trim() === "") continue;
    const [, name = "", digits = ""] = /^\s*([^\s=]+)\s*=\s*(\d{1,10})\s*$/.exec(piece) ?? [];
    if (digits === "" || Number(digits) > most) {
      const example = `us-east1=3 with a number up to ${most}`;
      throw new PlacementError(
        `annotation ${annotation}: "${piece.trim()}" is not like ${example}`,
      );
    }
    found.set(name, Number(digits));
  }
  return found;
}
