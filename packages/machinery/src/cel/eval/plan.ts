/** The planner's result for a node, and its input. */
import type { Resumable } from "../../base/index.ts";
import type { CheckedExpr } from "../check/checked-expr.ts";
import type { Environment } from "../check/environment.ts";
import type { Expr } from "../syntax/ast.ts";
import { CelError, type CelResult, type CelValue } from "../values/value.ts";
import type { EvalContext } from "./eval-context.ts";

/** Evaluates a node. */
export type Evaluate = (context: EvalContext) => CelResult;

/** Evaluates a node resumably. */
export type RunResumable = (context: EvalContext) => Resumable<CelResult>;

/**
 * A node with a loop in its subtree yields from time to time; all others are evaluated
 * synchronously.
 */
export type Plan = PlanAtOnce | PlanResumable;

export interface PlanAtOnce {
  readonly run: Evaluate;
  /** Set when the node is constant; it then costs nothing. */
  readonly constant?: CelValue;
  readonly resumable?: undefined;
}

export interface PlanResumable {
  readonly resumable: RunResumable;
  readonly run?: undefined;
  readonly constant?: undefined;
}

/** Shared by the planners of the node kinds. */
export interface Planning {
  readonly checked: CheckedExpr;
  readonly environment: Environment;
  /** Whether a value may be an object with lazily computed fields. */
  readonly mayBeLazy: boolean;
  plan(e: Expr): Plan;
  /** The slot of a variable of the environment, assigned on first use. */
  variableSlot(name: string): number;
  locals: LocalSlots;
}

/** Assigns slots to the local variables of comprehensions; nested ones get different slots. */
export class LocalSlots {
  #highest = 0;
  readonly #stack: string[] = [];

  /** The number of slots of the program. */
  get count(): number {
    return this.#highest;
  }

  find(name: string): number | undefined {
    const slot = this.#stack.lastIndexOf(name);
    return slot === -1 ? undefined : slot;
  }

  /** Runs `action` with `names` in scope, at consecutive slots from the one it is given. */
  with<T>(names: readonly string[], action: (firstSlot: number) => T): T {
    const first = this.#stack.length;
    this.#stack.push(...names);
    this.#highest = Math.max(this.#highest, this.#stack.length);
    const result = action(first);
    this.#stack.length = first;
    return result;
  }
}

/** Thrown when an expression cannot be planned, because a constant in it is invalid. */
export class ProgramProblem extends Error {
  override readonly name = "ProgramProblem";
}

/**
 * An error that every evaluation would return: rejected at compile time if the environment
 * validates literals.
 */
export function constantErrorPlan(planning: Planning, error: CelError): Plan {
  if (planning.environment.validateLiterals) throw new ProgramProblem(error.message);
  return { run: () => error };
}

export function constantPlan(constant: CelValue): Plan {
  return { run: () => constant, constant };
}

export interface StrictOptions {
  /** After such a value no further operand is evaluated. */
  readonly stopsAt?: (value: CelResult, index: number) => boolean;
  /** The operands that must be evaluated before the node can be evaluated synchronously. */
  readonly prepare?: ((values: readonly CelResult[]) => Resumable<unknown> | undefined) | undefined;
}

export const isError = (value: CelResult): boolean => value instanceof CelError;

/**
 * A node that evaluates its operands one after the other, and then is computed from their values
 * synchronously.
 */
export function planStrict(
  operands: readonly Plan[],
  make: (operands: readonly Evaluate[]) => Evaluate,
  { stopsAt = () => false, prepare }: StrictOptions = {},
): Plan {
  if (prepare === undefined && operands.every(isAtOnce)) {
    return { run: make(operands.map(({ run }) => run)) };
  }
  // No other node is evaluated between setting the operands and their use.
  let values: CelResult[] = [];
  const run = make(operands.map((_, i) => () => values[i] ?? null));
  return {
    *resumable(context) {
      const found: CelResult[] = [];
      for (const [i, operand] of operands.entries()) {
        const value =
          operand.run === undefined ? yield* operand.resumable(context) : operand.run(context);
        found.push(value);
        if (stopsAt(value, i)) break;
      }
      const preparation = prepare?.(found);
      if (preparation !== undefined) yield* preparation;
      values = found;
      try {
        return run(context);
      } finally {
        values = [];
      }
    },
  };
}

/** The same of a node with one operand. */
export function planUnary(
  operand: Plan,
  make: (operand: Evaluate) => Evaluate,
  options?: StrictOptions,
): Plan {
  return planStrict([operand], ([run]) => make(run as Evaluate), options);
}

export function planBinary(
  left: Plan,
  right: Plan,
  make: (left: Evaluate, right: Evaluate) => Evaluate,
): Plan {
  return planStrict([left, right], ([a, b]) => make(a as Evaluate, b as Evaluate));
}

export function isAtOnce(plan: Plan): plan is PlanAtOnce {
  return plan.run !== undefined;
}

/** The value of a node of either kind. */
export function* evaluate(plan: Plan, context: EvalContext): Resumable<CelResult> {
  return plan.run === undefined ? yield* plan.resumable(context) : plan.run(context);
}

/** The placeholder for the value of a node that was not evaluated. */
export const SKIPPED = new CelError("not evaluated");

/**
 * Evaluated when the condition holds; otherwise `otherwise` maps the condition's value to the
 * result.
 */
export function planGuarded(
  condition: Plan,
  plan: Plan,
  otherwise: (condition: CelResult) => CelResult,
): Plan {
  if (isAtOnce(condition) && isAtOnce(plan)) {
    return {
      run: (context) => {
        const value = condition.run(context);
        return value === true ? plan.run(context) : otherwise(value);
      },
    };
  }
  return {
    *resumable(context) {
      const value = yield* evaluate(condition, context);
      return value === true ? yield* evaluate(plan, context) : otherwise(value);
    },
  };
}
