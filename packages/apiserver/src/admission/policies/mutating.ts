/** Mutating policies run one after the other; each sees the object as the previous ones left it. */
import { runSyncFirst } from "@kcp-ts/machinery/base";
import { COST_PER_OBJECT_MAX } from "@kcp-ts/machinery/cel";
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { quote, StatusError, statusError } from "@kcp-ts/machinery/status";
import type { BoundPolicy, NamedBinding } from "../configuration.ts";
import { Evaluator } from "../expressions/evaluator.ts";
import { inServerWords } from "../in-server-words.ts";
import type { Match } from "../matching/criteria.ts";
import type { Reinvocation } from "../reinvocation.ts";
import type { ReviewedRequest } from "../reviewed-request.ts";
import {
  areConditionsMet,
  EvaluationYield,
  isBound,
  policyMatch,
  valuesFor,
} from "./applicable.ts";
import type { MutatingPolicy, Mutation } from "./mutating-policy.ts";
import { applyJsonPatchExpression, mergeApplyConfiguration } from "./mutation.ts";
import { PolicyConfigurationError, parametersOf } from "./parameters.ts";

type Bound = BoundPolicy<MutatingPolicy>;

/** The policy cannot be evaluated: its failure policy decides. */
class MutationError extends Error {
  override readonly name = "MutationError";
}

export async function mutateByPolicies(
  policies: readonly Bound[],
  reviewed: ReviewedRequest,
  reinvocation: Reinvocation<NamedBinding>,
): Promise<void> {
  const turns = new EvaluationYield(reviewed);
  for (const bound of policies) {
    const match = await policyMatch(bound, reviewed);
    if (match === undefined) continue;
    for (const binding of bound.bindings) {
      if (!reinvocation.isDue(binding) || !(await isBound(binding, reviewed))) continue;
      const isChanged = await mutateByOne(bound, binding, match, reviewed, turns);
      if (isChanged) reinvocation.noteChange();
      if (bound.policy.isReinvoked) reinvocation.noteInvoked(binding);
    }
  }
}

async function mutateByOne(
  { name, policy }: Bound,
  { name: bindingName, binding }: NamedBinding,
  match: Match,
  reviewed: ReviewedRequest,
  evaluationYield: EvaluationYield,
): Promise<boolean> {
  const before = reviewed.object;
  try {
    for (const params of await parametersOf(policy, binding, reviewed))
      await mutateWith(policy, params, match, reviewed, evaluationYield);
  } catch (error) {
    const isProblem = error instanceof MutationError || error instanceof PolicyConfigurationError;
    if (!isProblem) throw error;
    if (policy.isIgnored) return false;
    throw refused(name, bindingName, error, reviewed);
  }
  return before !== reviewed.object;
}

function refused(
  name: string,
  binding: string,
  error: MutationError | PolicyConfigurationError,
  { request }: ReviewedRequest,
): StatusError {
  const isConfiguration = error instanceof PolicyConfigurationError;
  const by =
    isConfiguration && error.of === "policy"
      ? `policy ${quote(name)}`
      : `policy '${name}' with binding '${binding}'`;
  const message = `${by} denied request: ${error.message}`;
  const { status } = statusError.forbidden(request, request.name, message);
  return new StatusError({
    ...status,
    message,
    reason: isConfiguration ? "Forbidden" : "Invalid",
    details: { ...status.details, causes: [{ message }] },
  });
}

/**
 * Runs the mutations in order, each on the result of the previous one; the match conditions are
 * evaluated once.
 */
async function mutateWith(
  policy: MutatingPolicy,
  params: JsonObject | null,
  match: Match,
  reviewed: ReviewedRequest,
  evaluationYield: EvaluationYield,
): Promise<void> {
  const first = await valuesFor(reviewed, match, params);
  if (first.object === null) return;
  const { isMet, error } = await areConditionsMet(policy, first, reviewed);
  if (error !== undefined) throw new MutationError(error);
  if (!isMet) return;
  let costMax = COST_PER_OBJECT_MAX;
  for (const mutation of policy.mutations) {
    const values = await valuesFor(reviewed, match, params);
    const { decisions } = reviewed;
    const { variables } = policy;
    const { outcome, evaluator } = await decisions.awaitPending(function* () {
      const current = new Evaluator(values, decisions, { costMax, variables });
      return { outcome: yield* current.evaluate(mutation.expression), evaluator: current };
    });
    if (outcome.error !== undefined) throw new MutationError(outcome.error);
    const spent = costMax;
    costMax = evaluator.remaining;
    await change(mutation, outcome.value, reviewed, match);
    evaluationYield.throwIfAborted();
    const others = evaluationYield.yieldIfDue(evaluator, spent);
    if (others !== undefined) await others;
  }
}

async function change(
  { type }: Mutation,
  value: Parameters<typeof applyJsonPatchExpression>[1],
  reviewed: ReviewedRequest,
  match: Match,
): Promise<void> {
  const { equivalent } = match;
  const { object } = await reviewed.versionedAs(match);
  if (object === null || reviewed.object === null) return;
  const form = equivalent?.decoder ?? reviewed.request.decoder;
  const merged = await toMutationError(async () =>
    runSyncFirst(
      type === "JSONPatch"
        ? applyJsonPatchExpression(object, value, reviewed.patching)
        : mergeApplyConfiguration(object, value, form.applyType),
    ),
  );
  if (merged === object) return;
  const changed = await inServerWords(() => form.decode(merged, "strictly"));
  const restored = equivalent === undefined ? changed : await equivalent.restore(changed);
  if (!jsonEqual(restored, reviewed.object)) reviewed.object = restored;
}

async function toMutationError<Result>(body: () => Promise<Result>): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    throw new MutationError((error as Error).message);
  }
}
