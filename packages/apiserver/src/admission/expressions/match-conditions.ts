/** Match conditions: a webhook or policy matches requests for which all of them are true. */
import type { Resumable } from "@kcp-ts/machinery/base";
import { COST_MATCH_CONDITIONS_MAX } from "@kcp-ts/machinery/cel";
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { AuthorizerDecisions } from "./decisions.ts";
import { Evaluator, type ExpressionValues, type Variable } from "./evaluator.ts";
import { type Expression, expressionOf } from "./expression.ts";

export function readMatchConditions(value: JsonValue | undefined): readonly Expression[] {
  return (Array.isArray(value) ? (value as readonly JsonValue[]) : []).flatMap((condition) =>
    isJsonObject(condition)
      ? [expressionOf(String(condition["expression"]).trim(), "matchCondition")]
      : [],
  );
}

export type ConditionsOutcome =
  | { readonly isMet: boolean; readonly error: undefined }
  | { readonly isMet: undefined; readonly error: string };

/**
 * A false condition decides; otherwise a failing condition is an error, which the failure policy
 * handles.
 */
export function evaluateMatchConditions(
  conditions: readonly Expression[],
  values: ExpressionValues,
  decisions: AuthorizerDecisions,
  variables: readonly Variable[] = [],
): Promise<ConditionsOutcome> {
  return decisions.awaitPending(function* (): Resumable<ConditionsOutcome> {
    const evaluator = new Evaluator(values, decisions, {
      costMax: COST_MATCH_CONDITIONS_MAX,
      variables,
    });
    const errors: string[] = [];
    for (const condition of conditions) {
      const { value, error } = yield* evaluator.evaluate(condition);
      if (error !== undefined) errors.push(error);
      else if (value !== true) return { isMet: false, error: undefined };
      if (evaluator.isOutOfBudget) break;
    }
    if (errors.length === 0) return { isMet: true, error: undefined };
    const unique = [...new Set(errors)];
    return {
      isMet: undefined,
      error: unique.length === 1 ? (unique[0] as string) : `[${unique.join(", ")}]`,
    };
  });
}
