/**
 * Function declarations for the checker, the planner and the cost estimator.
 *
 * A function is a name with overloads; an overload has a signature, an implementation, and a cost.
 */
import type { CallEstimator } from "../cost/call-estimate.ts";
import type { Type } from "../types/type.ts";
import type { Pattern } from "../values/pattern.ts";
import type { StepCounter } from "../values/step-counter.ts";
import type { CelError, CelResult } from "../values/value.ts";

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
}

export interface Overload {
  readonly id: string;
  /** Called as `target.function(…)`; the target is the first parameter. */
  readonly member: boolean;
  readonly params: readonly Type[];
  readonly result: Type;
  /** Absent for operators and functions that the planner implements itself. */
  readonly call?: OverloadCall;
  /** The run-time cost of a call: a number, or computed afterwards. One unit if absent. */
  readonly cost?: number | RuntimeCost;
  /** The estimated cost of a call. One unit if absent. */
  readonly estimate?: CallEstimator;
}

/**
 * Takes the values of its parameters, then a CallContext. The planner guarantees their kinds. Each
 * implementation declares the parameter types that it needs, which `never` allows.
 */
export type OverloadCall = (...args: never[]) => CelResult;

/** Takes the result, then the arguments. */
export type RuntimeCost = (result: CelResult, ...args: never[]) => number;

/** The services of the running evaluation for an implementation. */
export interface CallContext extends StepCounter {
  /** Compiles a regular expression, or returns the cached one. */
  pattern(source: string): Pattern | CelError;
}

type Extras = Pick<Overload, "cost" | "estimate">;

export function fn(name: string, ...overloads: readonly Overload[]): FunctionDeclaration {
  return { name, overloads };
}

export function global(
  id: string,
  params: readonly Type[],
  result: Type,
  call?: OverloadCall,
  extras: Extras = {},
): Overload {
  return { id, member: false, params, result, ...(call && { call }), ...extras };
}

export function member(
  id: string,
  params: readonly Type[],
  result: Type,
  call?: OverloadCall,
  extras: Extras = {},
): Overload {
  return { id, member: true, params, result, ...(call && { call }), ...extras };
}
