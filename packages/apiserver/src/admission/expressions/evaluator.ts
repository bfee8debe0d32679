/**
 * Evaluator runs the expressions of one webhook or policy for one request, within one cost budget,
 * and yields to the event loop.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import {
  CelError,
  CelLazyObject,
  type CelResult,
  type CelValue,
  COST_PER_CALL_MAX,
} from "@kcp-ts/machinery/cel";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { AuthorizerDecisions } from "./decisions.ts";
import type { Expression } from "./expression.ts";

export interface ExpressionValues {
  readonly object: JsonObject | null;
  readonly oldObject: JsonObject | null;
  readonly request: JsonObject;
  readonly namespaceObject: JsonObject | null;
  readonly params?: JsonValue;
}

export interface Variable {
  readonly name: string;
  readonly expression: Expression;
}

export type Outcome =
  | { readonly value: CelValue; readonly error: undefined }
  | { readonly value: undefined; readonly error: string };

/** The message when the budget is exhausted: no further expression is evaluated. */
export const outOfBudget =
  "validation failed due to running out of cost budget, no further validation rules will be run";

export class Evaluator {
  readonly #values: ExpressionValues;
  readonly #decisions: AuthorizerDecisions;
  readonly #variables: readonly Variable[];
  readonly #known: Map<number, CelResult>;
  #remaining: number;
  /**
   * The total cost of the variables that one expression may use. Kubernetes permits this cost for
   * each variable.
   */
  #variablesRemaining = COST_PER_CALL_MAX;

  constructor(
    values: ExpressionValues,
    decisions: AuthorizerDecisions,
    options: { readonly costMax: number; readonly variables?: readonly Variable[] },
    known?: ReadonlyMap<number, CelResult>,
  ) {
    this.#values = values;
    this.#decisions = decisions;
    this.#remaining = options.costMax;
    this.#variables = options.variables ?? [];
    this.#known = new Map(known);
  }

  /**
   * Resolves to the result of the body when all its checks are decided, with the evaluator's state
   * at that time. Variables and cost that were computed with a pending check are discarded with the
   * copy of the evaluator that computed them.
   */
  async evaluateSettled<Result>(
    body: (evaluator: Evaluator) => Resumable<Result>,
  ): Promise<{ readonly result: Result; readonly evaluator: Evaluator }> {
    const tried = function* (evaluator: Evaluator) {
      return { result: yield* body(evaluator), evaluator };
    };
    return this.#decisions.awaitPending(() => {
      const options = { costMax: this.#remaining, variables: this.#variables };
      return tried(new Evaluator(this.#values, this.#decisions, options, this.#known));
    });
  }

  get isOutOfBudget(): boolean {
    return this.#remaining < 0;
  }

  get remaining(): number {
    return this.#remaining;
  }

  *evaluate(expression: Expression): Resumable<Outcome> {
    this.#variablesRemaining = COST_PER_CALL_MAX;
    const result = yield* this.#run(expression, this.#variables.length);
    if (!(result instanceof CelError)) return { value: result, error: undefined };
    if (this.isOutOfBudget) return { value: undefined, error: outOfBudget };
    const error =
      expression.error === undefined
        ? `expression '${expression.text}' resulted in error: ${result.message}`
        : `compilation error: ${expression.error}`;
    return { value: undefined, error };
  }

  /** A variable sees only the variables before it, so none can see itself. */
  *#run(
    { program, error }: Expression,
    variablesSeen: number,
    costMax = COST_PER_CALL_MAX,
  ): Resumable<CelResult> {
    if (program === undefined) return new CelError(error ?? "the expression does not compile");
    const find = (name: string) => this.#find(name, variablesSeen);
    const costLimit = Math.min(costMax, Math.max(0, this.#remaining));
    const before = this.#remaining;
    const evaluation = yield* program.evaluateResumable(find, { costLimit });
    const { result, charged: cost, cancelled } = evaluation;
    this.#remaining -= cost;
    if (cancelled !== undefined && before < COST_PER_CALL_MAX) this.#remaining = -1;
    return result;
  }

  #find(name: string, variablesSeen: number): unknown {
    switch (name) {
      case "object":
        return this.#values.object;
      case "oldObject":
        return this.#values.oldObject;
      case "request":
        return this.#values.request;
      case "namespaceObject":
        return this.#values.namespaceObject;
      case "params":
        return this.#values.params ?? null;
      case "variables":
        return new CelLazyObject("kubernetes.variables", (field) =>
          this.#variable(field, variablesSeen),
        );
      case "authorizer":
        return this.#decisions.authorizer;
      case "authorizer.requestResource":
        return this.#decisions.requestResource;
      default:
        return undefined;
    }
  }

  *#variable(name: string, seen: number): Resumable<CelResult | undefined> {
    const at = this.#variables.findIndex((variable) => variable.name === name);
    if (at < 0 || at >= seen) return undefined;
    const known = this.#known.get(at);
    if (known !== undefined) return known;
    const before = this.#remaining;
    const { expression } = this.#variables[at] as Variable;
    const result = yield* this.#run(expression, at, Math.max(0, this.#variablesRemaining));
    this.#variablesRemaining -= before - this.#remaining;
    const kept =
      result instanceof CelError
        ? new CelError(`composited variable "${name}" fails to evaluate: ${result.message}`)
        : result;
    this.#known.set(at, kept);
    return kept;
  }
}
