/**
 * The cost of parsing a selector, with Kubernetes' prices: a list of requirements, each with a list
 * of values.
 */
import type { CelValue } from "../values/value.ts";
import type { CallEstimator } from "./call-estimate.ts";
import {
  add,
  fixed,
  LIST_CREATE_COST,
  multiplyByFactor,
  type SizeEstimate,
  STRUCT_CREATE_COST,
  TRAVERSAL_FACTOR,
  UNKNOWN_SIZE,
} from "./estimate.ts";
import { costSize } from "./sizes.ts";

/** The shortest requirement has two characters. */
const REQUIREMENTS_PER_CHARACTER = 0.5;

function costOf(length: SizeEstimate) {
  const requirements = multiplyByFactor(length, REQUIREMENTS_PER_CHARACTER);
  return add(
    fixed(LIST_CREATE_COST),
    multiplyByFactor(length, TRAVERSAL_FACTOR),
    multiplyByFactor(requirements, LIST_CREATE_COST + STRUCT_CREATE_COST),
  );
}

export const selectorEstimate: CallEstimator = ({ args }) => ({
  cost: costOf(args[0]?.size ?? UNKNOWN_SIZE),
});

export function selectorCost(selector: CelValue): number {
  return costOf(fixed(costSize(selector))).max;
}
