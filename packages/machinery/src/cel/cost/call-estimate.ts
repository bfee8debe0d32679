/** The static cost of a call, as an overload declares it. */
import type { Expr } from "../syntax/ast.ts";
import type { Type } from "../types/type.ts";
import {
  type CostEstimate,
  fixed,
  multiplyByFactor,
  type SizeEstimate,
  TRAVERSAL_FACTOR,
} from "./estimate.ts";

/** A part of an expression whose size is estimated. */
export interface SizedNode {
  readonly expr: Expr;
  readonly type: Type;
  /** The known size; unbounded if nothing is known. */
  readonly size: SizeEstimate;
  /**
   * Whether the size comes from the expression or a declaration rather than from a missing bound.
   */
  readonly sizeKnown: boolean;
  /** The size of a list's elements, as far as it is declared. */
  readonly elementSize: SizeEstimate;
}

export interface EstimatedCall {
  readonly target: SizedNode | undefined;
  readonly args: readonly SizedNode[];
}

export interface CallEstimate {
  /** The cost of the call alone, without its arguments. */
  readonly cost: CostEstimate;
  readonly resultSize?: SizeEstimate;
}

export type CallEstimator = (call: EstimatedCall) => CallEstimate | undefined;

/** A call with a fixed cost. */
export function fixedEstimate(cost: number): CallEstimator {
  const estimate = { cost: fixed(cost) };
  return () => estimate;
}

/**
 * Reads the first argument (or the target) once, `factor` times over; the result may be as large.
 */
export function traversalEstimate(
  options: { factor?: number; sameSize?: boolean } = {},
): CallEstimator {
  const factor = (options.factor ?? 1) * TRAVERSAL_FACTOR;
  return ({ target, args }) => {
    const node = target ?? args[0];
    if (node === undefined) return undefined;
    const cost = multiplyByFactor(node.size, factor);
    return options.sameSize ? { cost, resultSize: node.size } : { cost };
  };
}
