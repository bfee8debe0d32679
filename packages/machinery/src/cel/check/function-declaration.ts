/**
 * Functions as the checker, the planner and the cost estimator see them.
 *
 * A function is a name with overloads; an overload has a signature, an implementation, and what it costs.
 */
import type { CallEstimator } from "../cost/call-estimate.ts";
import type { Type } from "../types/type.ts";
import type { Pattern } from "../values/pattern.ts";
import type { CelError, CelResult } from "../values/value.ts";
import type { StepCounter } from "../values/work.ts";

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
  /** What a call costs at runtime: a number, or computed afterwards. One unit if absent. */
  readonly cost?: number | RuntimeCost;
  /** What a call is estimated to cost. One unit if absent. */
  readonly estimate?: CallEstimator;
}

/**
 * Takes the values of its parameters, then a CallContext. The planner guarantees their kinds. The parameter types
 * are written as each implementation needs them, which `never` allows.
 */
export type OverloadCall = (...args: never[]) => CelResult;

/** Takes the result, then the arguments. */
export type RuntimeCost = (result: CelResult, ...args: never[]) => number;

/** What an implementation may ask of the running evaluation. */
export interface CallContext extends StepCounter {
  /** Compiles a regular expression, or finds it compiled. */
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
