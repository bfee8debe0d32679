/**
 * The state of one evaluation: variables, local slots, and its cost so far.
 *
 * Cost is counted as cel-go and Kubernetes count it and stops the evaluation at its limit. Steps
 * bound work without a cost; the embedder's interrupt is polled. Both stop the evaluation by
 * throwing, once.
 */
import type { CallContext } from "../check/function-declaration.ts";
import { EVALUATION_STEPS_MAX, INTERRUPT_CHECK_STEPS, WORK_PER_YIELD_MAX } from "../limits.ts";
import { compilePattern, type Pattern } from "../values/pattern.ts";
import type { StepCounter } from "../values/step-counter.ts";
import type { CelError, CelResult } from "../values/value.ts";

/** Why an evaluation was stopped. */
export type CancelReason = "cost" | "interrupt";

export class EvaluationCancelled extends Error {
  override readonly name = "EvaluationCancelled";
  readonly reason: CancelReason;

  constructor(reason: CancelReason) {
    super(
      reason === "cost"
        ? "operation cancelled: actual cost limit exceeded"
        : "operation interrupted",
    );
    this.reason = reason;
  }
}

export interface EvalOptions {
  readonly costLimit: number;
  readonly interrupt?: (() => boolean) | undefined;
  /** Finds the value of a variable, by its slot. */
  readonly load: (slot: number) => CelResult;
  readonly variableCount: number;
  readonly localCount: number;
}

export class EvalContext implements CallContext, StepCounter {
  cost = 0;
  keys: StepCounter["keys"];
  readonly locals: CelResult[];
  readonly #variables: (CelResult | undefined)[];
  readonly #load: (slot: number) => CelResult;
  readonly #costLimit: number;
  readonly #interrupt: (() => boolean) | undefined;
  #steps = 0;
  #iterations = 0;
  #restsAt = WORK_PER_YIELD_MAX;

  constructor(options: EvalOptions) {
    this.#costLimit = options.costLimit;
    this.#interrupt = options.interrupt;
    this.#load = options.load;
    this.#variables = new Array<CelResult | undefined>(options.variableCount).fill(undefined);
    this.locals = new Array<CelResult>(options.localCount).fill(null);
  }

  /**
   * The charge to the embedder's budget: the evaluation's cost, or its work where that is more.
   * This bounds, over all evaluations, work out of proportion to Kubernetes' cost.
   */
  get spent(): { readonly cost: number; readonly charged: number } {
    return { cost: this.cost, charged: Math.max(this.cost, this.#steps) };
  }

  charge(cost: number): void {
    this.cost += cost;
    if (this.cost > this.#costLimit) throw new EvaluationCancelled("cost");
  }

  /** Refunds in advance what cel-go does not charge for an attribute inside another one. */
  refund(cost: number): void {
    this.cost -= cost;
  }

  step(count: number): void {
    this.#steps += count;
    if (this.#steps <= EVALUATION_STEPS_MAX) return;
    // Rejected work was not done.
    this.#steps = EVALUATION_STEPS_MAX;
    throw new EvaluationCancelled("cost");
  }

  /** Called once for each round of a comprehension. */
  iterate(): void {
    if (++this.#iterations % INTERRUPT_CHECK_STEPS === 0 && this.#interrupt?.() === true) {
      throw new EvaluationCancelled("interrupt");
    }
  }

  /** Enough work was done since the last yield to yield to the event loop. */
  isRestDue(): boolean {
    const done = this.cost + this.#steps;
    if (done < this.#restsAt) return false;
    this.#restsAt = done + WORK_PER_YIELD_MAX;
    return true;
  }

  variable(slot: number): CelResult {
    let value = this.#variables[slot];
    if (value === undefined) {
      value = this.#load(slot);
      this.#variables[slot] = value;
    }
    return value;
  }

  pattern(source: string): Pattern | CelError {
    return compilePattern(source);
  }
}
