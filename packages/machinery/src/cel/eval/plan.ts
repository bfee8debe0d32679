/** What the planner makes of a node, and what it needs to know to do so. */
import type { CheckedExpr } from "../check/checked-expr.ts";
import type { Environment } from "../check/environment.ts";
import type { Expr } from "../syntax/ast.ts";
import type { CelError, CelResult, CelValue } from "../values/value.ts";
import type { EvalContext } from "./eval-context.ts";

/** Evaluates a node. */
export type Run = (context: EvalContext) => CelResult;

export interface Plan {
  readonly run: Run;
  /** Set when the node is the same in every evaluation; it then costs nothing. */
  readonly constant?: CelValue;
}

/** Shared by the planners of the node kinds. */
export interface Planning {
  readonly checked: CheckedExpr;
  readonly environment: Environment;
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
