/** Finds the bindings of a policy that match a request, and the variables of its expressions. */
import { yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { statusError } from "@kcp-ts/machinery/status";
import type { BoundPolicy, NamedBinding } from "../configuration.ts";
import type { Evaluator, ExpressionValues } from "../expressions/evaluator.ts";
import { evaluateMatchConditions } from "../expressions/match-conditions.ts";
import { type Match, matchRequest } from "../matching/criteria.ts";
import { namespaceValue, type ReviewedRequest } from "../reviewed-request.ts";
import type { Policy } from "./policy.ts";

/** The kind as which the policy sees the request; undefined when the policy does not match. */
export function policyMatch(
  { policy }: BoundPolicy<Policy>,
  reviewed: ReviewedRequest,
): Promise<Match | undefined> {
  return matchRequest(policy.criteria, reviewed);
}

export async function isBound(
  { binding }: NamedBinding,
  reviewed: ReviewedRequest,
): Promise<boolean> {
  if (binding.criteria === undefined) return true;
  return (await matchRequest(binding.criteria, reviewed)) !== undefined;
}

export async function valuesFor(
  reviewed: ReviewedRequest,
  match: Match,
  params: JsonObject | null,
): Promise<ExpressionValues> {
  const { object, old } = await reviewed.versionedAs(match);
  return {
    object,
    oldObject: old,
    request: reviewed.describe(match),
    namespaceObject: namespaceValue(await reviewed.namespaceObject()),
    params,
  };
}

/** Whether the match conditions are true; an error when they cannot be evaluated. */
export async function areConditionsMet(
  policy: Policy,
  values: ExpressionValues,
  reviewed: ReviewedRequest,
): Promise<{ readonly isMet: boolean; readonly error: string | undefined }> {
  if (policy.conditions.length === 0) return { isMet: true, error: undefined };
  const { conditions, variables } = policy;
  const outcome = await evaluateMatchConditions(conditions, values, reviewed.decisions, variables);
  return outcome.error === undefined ? outcome : { isMet: false, error: outcome.error };
}

/** The cost that is spent in one turn of the event loop: some ten milliseconds. */
const costPerIteration = 200_000;

/**
 * EvaluationYield yields to the event loop during long evaluations of one request, and throws when
 * the request is aborted.
 */
export class EvaluationYield {
  readonly #reviewed: ReviewedRequest;
  #spent = 0;

  constructor(reviewed: ReviewedRequest) {
    this.#reviewed = reviewed;
  }

  /** Called between expressions. */
  yieldIfDue(evaluator: Evaluator, before: number): Promise<void> | undefined {
    this.#spent += before - evaluator.remaining;
    if (this.#spent < costPerIteration) return undefined;
    this.#spent = 0;
    this.throwIfAborted();
    return yieldToEventLoop();
  }

  throwIfAborted(): void {
    if (this.#reviewed.request.signal.aborted)
      throw statusError.timeout("request did not complete within the allotted timeout");
  }
}
