/** A compiled expression, ready to be evaluated any number of times. */
import { type Resumable, runSync } from "../../base/index.ts";
import type { CheckedExpr } from "../check/checked-expr.ts";
import type { Environment } from "../check/environment.ts";
import { COST_PER_CALL_MAX } from "../limits.ts";
import type { DeclaredType } from "../types/declared-type.ts";
import type { Type } from "../types/type.ts";
import { countedResumable, withStepCounter } from "../values/step-counter.ts";
import { CelError, type CelResult } from "../values/value.ts";
import { type CancelReason, EvalContext, EvaluationCancelled } from "./eval-context.ts";
import { type PlannedProgram, planProgram } from "./planner.ts";

/** Values of variables by name: raw JSON, or CEL values where the declaration says so. */
export type Activation =
  | Readonly<Record<string, unknown>>
  | ReadonlyMap<string, unknown>
  | ((name: string) => unknown);

export interface Budget {
  /** What this evaluation may cost at most; Kubernetes' limit per call if absent. */
  readonly costLimit?: number;
  /** Polled during long loops; true ends the evaluation. */
  readonly interrupt?: () => boolean;
}

export interface Evaluation {
  /** The value, or the error. */
  readonly result: CelResult;
  /** As Kubernetes counts it. */
  readonly cost: number;
  /**
   * The charge to the budget of its object or policy: its cost, or its steps where these are more.
   */
  readonly charged: number;
  /** Set when the evaluation was stopped rather than finished. */
  readonly cancelled: CancelReason | undefined;
}

export class Program {
  readonly checked: CheckedExpr;
  /** Whether the expression has a loop, so that evaluating it may take long. */
  readonly isLong: boolean;
  readonly #planned: PlannedProgram;
  readonly #declarations: readonly (DeclaredType | undefined)[];

  constructor(checked: CheckedExpr, environment: Environment) {
    this.checked = checked;
    this.#planned = planProgram(checked, environment);
    this.isLong = this.#planned.plan.resumable !== undefined;
    this.#declarations = this.#planned.variables.map((name) => environment.variables.get(name));
  }

  get resultType(): Type {
    return this.checked.type;
  }

  /** The variables that the expression refers to. */
  get variables(): readonly string[] {
    return this.#planned.variables;
  }

  evaluate(activation: Activation, budget: Budget = {}): Evaluation {
    const { run } = this.#planned.plan;
    if (run === undefined) return runSync(this.evaluateResumable(activation, budget));
    const context = this.#context(activation, budget);
    try {
      const result = withStepCounter(context, run);
      return { result, ...context.spent, cancelled: undefined };
    } catch (error) {
      return cancelled(context, error);
    }
  }

  /** The same, resumably. */
  *evaluateResumable(activation: Activation, budget: Budget = {}): Resumable<Evaluation> {
    const { resumable } = this.#planned.plan;
    if (resumable === undefined) return this.evaluate(activation, budget);
    const context = this.#context(activation, budget);
    try {
      const result = yield* countedResumable(context, resumable(context));
      return { result, ...context.spent, cancelled: undefined };
    } catch (error) {
      return cancelled(context, error);
    }
  }

  #context(activation: Activation, budget: Budget): EvalContext {
    const { variables, localCount } = this.#planned;
    return new EvalContext({
      costLimit: budget.costLimit ?? COST_PER_CALL_MAX,
      interrupt: budget.interrupt,
      load: (slot) => {
        const name = variables[slot] ?? "";
        const raw = valueIn(activation, name);
        if (raw === undefined) return new CelError(`no such attribute(s): ${name}`);
        if (raw instanceof CelError) return raw;
        const declared = this.#declarations[slot];
        return declared === undefined
          ? new CelError(`no such attribute(s): ${name}`)
          : declared.adapt(raw);
      },
      variableCount: variables.length,
      localCount,
    });
  }
}

/** The result of an evaluation that was stopped; rethrows other errors. */
function cancelled(context: EvalContext, error: unknown): Evaluation {
  if (error instanceof EvaluationCancelled) {
    const result = new CelError(error.message);
    return { result, ...context.spent, cancelled: error.reason };
  }
  if (!isStackOverflow(error)) throw error;
  const result = new CelError("operation cancelled: value is nested too deeply");
  return { result, ...context.spent, cancelled: "cost" };
}

function valueIn(activation: Activation, name: string): unknown {
  if (typeof activation === "function") return activation(name);
  if (activation instanceof Map) return activation.get(name);
  const record = activation as Readonly<Record<string, unknown>>;
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Deep data can exhaust the stack in comparisons; only the evaluation fails then. */
function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes("call stack");
}
