/** Costs of the list extensions: those of cel-go, version 3. */
import type { Type } from "../types/type.ts";
import type { CelList } from "../values/value.ts";
import type { CallEstimate, SizedNode } from "./call-estimate.ts";
import {
  add,
  COST_MAX,
  fixed,
  LIST_CREATE_COST,
  multiply,
  multiplyByFactor,
  ONE,
  type SizeEstimate,
  TRAVERSAL_FACTOR,
} from "./estimate.ts";

/** Comparing every element with every other one. */
const COMPARISON_FACTOR = 2;

export function listEstimate(size: SizeEstimate, factor: number): CallEstimate {
  return {
    cost: add(multiplyByFactor(size, factor), ONE, fixed(LIST_CREATE_COST)),
    resultSize: size,
  };
}

export function listCost(factor: number, size: number): number {
  return Math.floor(size * factor) + 1 + LIST_CREATE_COST;
}

export function selfComparisonEstimate(
  size: SizeEstimate,
  element: Type | undefined,
): CallEstimate {
  const isText = element?.kind === "string" || element?.kind === "bytes";
  return listEstimate(multiply(size, size), COMPARISON_FACTOR + (isText ? TRAVERSAL_FACTOR : 0));
}

export function selfComparisonCost(list: CelList): number {
  const first = list.size > 0 ? list.get(0) : null;
  const isText = typeof first === "string" || first instanceof Uint8Array;
  return listCost(COMPARISON_FACTOR + (isText ? TRAVERSAL_FACTOR : 0), list.size * list.size);
}

/** The value of an argument that is a literal and no less than zero. */
export function literalSize(node: SizedNode | undefined): number | undefined {
  const literal = node?.expr.kind === "literal" ? node.expr.literal : undefined;
  if (literal?.type !== "int") return undefined;
  return literal.value < 0n ? 0 : Math.min(Number(literal.value), COST_MAX);
}
