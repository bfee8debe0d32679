/** What the planner makes of a node, and what it needs to know to do so. */
import type { Resumable } from "../../base/index.ts";
import type { CheckedExpr } from "../check/checked-expr.ts";
import type { Environment } from "../check/environment.ts";
import type { Expr } from "../syntax/ast.ts";
import { CelError, type CelResult, type CelValue } from "../values/value.ts";
import type { EvalContext } from "./eval-context.ts";

/** Evaluates a node. */
export type Run = (context: EvalContext) => CelResult;

/** The same of a node that may take long. */
export type RunInPieces = (context: EvalContext) => Resumable<CelResult>;

/** A node with a loop somewhere in it rests now and then; all others are evaluated at once. */
export type Plan = PlanAtOnce | PlanInPieces;

export interface PlanAtOnce {
  readonly run: Run;
  /** Set when the node is the same in every evaluation; it then costs nothing. */
  readonly constant?: CelValue;
  readonly inPieces?: undefined;
}

export interface PlanInPieces {
  readonly inPieces: RunInPieces;
  readonly run?: undefined;
  readonly constant?: undefined;
}

/** Shared by the planners of the node kinds. */
export interface Planning {
  readonly checked: CheckedExpr;
  readonly environment: Environment;
  /** Some value may be an object whose fields are computed when they are asked for. */
  readonly mayBeLazy: boolean;
  plan(e: Expr): Plan;
  /** The slot of a variable of the environment, given out on first use. */
  variableSlot(name: string): number;
  locals: LocalSlots;
}

/** Gives slots to the local variables of comprehensions; nested ones get different slots. */
export class LocalSlots {
  #highest = 0;
  readonly #stack: string[] = [];

  /** Slots needed by the whole program. */
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

/** Thrown when a program cannot be made of an expression, because a constant in it is wrong. */
export class ProgramProblem extends Error {
  override readonly name = "ProgramProblem";
}

/** An error that every evaluation would give: refused now if the environment validates literals. */
export function constantErrorPlan(planning: Planning, error: CelError): Plan {
  if (planning.environment.validateLiterals) throw new ProgramProblem(error.message);
  return { run: () => error };
}

export function constantPlan(constant: CelValue): Plan {
  return { run: () => constant, constant };
}

export interface StrictOptions {
  /** Behind such a value no operand is evaluated any more, and the node does not ask for one. */
  readonly stopsAt?: (value: CelResult, index: number) => boolean;
  /** What has to be done with the operands before the node can be evaluated at once. */
  readonly prepare?: ((values: readonly CelResult[]) => Resumable<unknown> | undefined) | undefined;
}

export const isError = (value: CelResult): boolean => value instanceof CelError;

/** A node that evaluates its operands one after the other, and then is made of their values at once. */
export function planStrict(
  operands: readonly Plan[],
  make: (operands: readonly Run[]) => Run,
  { stopsAt = () => false, prepare }: StrictOptions = {},
): Plan {
  if (prepare === undefined && operands.every(isAtOnce)) {
    return { run: make(operands.map(({ run }) => run)) };
  }
  // Nothing else is evaluated between setting them and having used them.
  let values: CelResult[] = [];
  const run = make(operands.map((_, i) => () => values[i] ?? null));
  return {
    *inPieces(context) {
      const found: CelResult[] = [];
      for (const [i, operand] of operands.entries()) {
        const value =
          operand.run === undefined ? yield* operand.inPieces(context) : operand.run(context);
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
  make: (operand: Run) => Run,
  options?: StrictOptions,
): Plan {
  return planStrict([operand], ([run]) => make(run as Run), options);
}

export function planBinary(left: Plan, right: Plan, make: (left: Run, right: Run) => Run): Plan {
  return planStrict([left, right], ([a, b]) => make(a as Run, b as Run));
}

export function isAtOnce(plan: Plan): plan is PlanAtOnce {
  return plan.run !== undefined;
}

/** The value of a node of either kind. */
export function* evaluate(plan: Plan, context: EvalContext): Resumable<CelResult> {
  return plan.run === undefined ? yield* plan.inPieces(context) : plan.run(context);
}

/** Stands for the value of a node that was not evaluated. */
export const SKIPPED = new CelError("not evaluated");

/** Evaluated when the condition holds; `otherwise` makes something of what the condition is if it does not. */
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
    *inPieces(context) {
      const value = yield* evaluate(condition, context);
      return value === true ? yield* evaluate(plan, context) : otherwise(value);
    },
  };
}
