/**
 * Validating policies: every binding that matches the request is evaluated; the first denial is the
 * response.
 */
import type { Resumable } from "@kcp-ts/machinery/base";
import { COST_PER_OBJECT_MAX, MESSAGE_EXPRESSION_BYTES_MAX } from "@kcp-ts/machinery/cel";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { StatusError, type StatusReason, statusError } from "@kcp-ts/machinery/status";
import type { BoundPolicy, NamedBinding } from "../configuration.ts";
import { Evaluator, outOfBudget } from "../expressions/evaluator.ts";
import type { Match } from "../matching/criteria.ts";
import type { ReviewedRequest } from "../reviewed-request.ts";
import {
  areConditionsMet,
  EvaluationYield,
  isBound,
  policyMatch,
  valuesFor,
} from "./applicable.ts";
import { PolicyConfigurationError, parametersOf } from "./parameters.ts";
import type { AuditAnnotation, ValidatingPolicy, Validation } from "./validating-policy.ts";

type Bound = BoundPolicy<ValidatingPolicy>;

/** A violation of a policy by a request. */
interface Violation {
  readonly message: string;
  readonly reason: string;
  readonly expressionIndex: number;
  /** The policy itself failed, independent of its binding. */
  readonly isOfPolicy?: boolean;
}

interface ValidationFindings {
  readonly violations: Violation[];
  /**
   * Audit annotations that cannot be computed deny the request, whatever the actions of the
   * binding.
   */
  readonly errors: Violation[];
}

export async function validateByPolicies(
  policies: readonly Bound[],
  reviewed: ReviewedRequest,
): Promise<void> {
  const turns = new EvaluationYield(reviewed);
  const notes = new PolicyAuditAnnotations();
  let denial: StatusError | undefined;
  for (const bound of policies) {
    const match = await policyMatch(bound, reviewed);
    if (match === undefined) continue;
    for (const binding of bound.bindings) {
      if (!(await isBound(binding, reviewed))) continue;
      const { violations, errors } = await evaluateBinding(
        bound,
        binding,
        match,
        reviewed,
        turns,
        notes,
      );
      for (const violation of violations) {
        if (enforceActions(bound, binding, violation, reviewed, notes))
          denial ??= denied(bound, binding, violation, reviewed);
      }
      for (const error of errors) denial ??= denied(bound, binding, error, reviewed);
    }
  }
  notes.publish(reviewed);
  if (denial !== undefined) throw denial;
}

/** Performs the binding's actions on a violation; true when the request is denied. */
function enforceActions(
  { name }: Bound,
  { name: bindingName, binding }: NamedBinding,
  violation: Violation,
  { request }: ReviewedRequest,
  notes: PolicyAuditAnnotations,
): boolean {
  const { actions } = binding;
  if (actions.includes("Warn"))
    request.warn(
      `Validation failed for ValidatingAdmissionPolicy '${name}' with binding '${bindingName}': ${violation.message}`,
    );
  if (actions.includes("Audit"))
    notes.addFailure({
      message: violation.message,
      policy: name,
      binding: bindingName,
      expressionIndex: violation.expressionIndex,
      validationActions: actions,
    });
  return actions.includes("Deny");
}

async function evaluateBinding(
  { name, policy }: Bound,
  { binding }: NamedBinding,
  match: Match,
  reviewed: ReviewedRequest,
  evaluationYield: EvaluationYield,
  notes: PolicyAuditAnnotations,
): Promise<ValidationFindings> {
  const findings: ValidationFindings = { violations: [], errors: [] };
  const failed = (message: string) => {
    if (!policy.isIgnored)
      findings.violations.push({ message, reason: "Invalid", expressionIndex: 0 });
  };
  try {
    for (const params of await parametersOf(policy, binding, reviewed)) {
      const values = await valuesFor(reviewed, match, params);
      const { isMet, error } = await areConditionsMet(policy, values, reviewed);
      if (error !== undefined) failed(error);
      if (!isMet) continue;
      const evaluator = () =>
        new Evaluator(values, reviewed.decisions, {
          costMax: COST_PER_OBJECT_MAX,
          variables: policy.variables,
        });
      await evaluate(policy, evaluator(), evaluationYield, findings);
      await annotate(name, policy, evaluator(), evaluationYield, findings, notes);
    }
  } catch (error) {
    if (!(error instanceof PolicyConfigurationError)) throw error;
    // The message names the policy or the binding, and the action is always Deny.
    if (!policy.isIgnored)
      findings.errors.push({
        message: error.message,
        reason: "Invalid",
        expressionIndex: 0,
        isOfPolicy: error.of === "policy",
      });
  }
  return findings;
}

async function evaluate(
  { validations, isIgnored }: ValidatingPolicy,
  evaluator: Evaluator,
  evaluationYield: EvaluationYield,
  findings: ValidationFindings,
): Promise<void> {
  let current = evaluator;
  for (const [expressionIndex, validation] of validations.entries()) {
    const before = current.remaining;
    const done = await current.evaluateSettled((trial) => check(validation, trial, isIgnored));
    if (done.result !== undefined) findings.violations.push({ ...done.result, expressionIndex });
    current = done.evaluator;
    if (current.isOutOfBudget) return;
    const others = evaluationYield.yieldIfDue(current, before);
    if (others !== undefined) await others;
  }
}

function* check(
  { expression, message, messageExpression, reason }: Validation,
  evaluator: Evaluator,
  isIgnored: boolean,
): Resumable<Omit<Violation, "expressionIndex"> | undefined> {
  const { value, error } = yield* evaluator.evaluate(expression);
  if (error !== undefined) return isIgnored ? undefined : { message: error, reason: "Invalid" };
  if (value === true) return undefined;
  const said =
    messageExpression === undefined
      ? ""
      : usable((yield* evaluator.evaluate(messageExpression)).value);
  return { message: said || message || `failed expression: ${expression.text}`, reason };
}

/** The value as one line of limited length, or an empty string. */
function usable(value: unknown): string {
  if (typeof value !== "string") return "";
  const text = value.trim();
  const isTooLong = Buffer.byteLength(text) > MESSAGE_EXPRESSION_BYTES_MAX;
  return isTooLong || /[\n\r]/.test(text) ? "" : text;
}

async function annotate(
  policyName: string,
  { annotations, isIgnored }: ValidatingPolicy,
  evaluator: Evaluator,
  evaluationYield: EvaluationYield,
  findings: ValidationFindings,
  notes: PolicyAuditAnnotations,
): Promise<void> {
  let current = evaluator;
  for (const { key, expression } of annotations as readonly AuditAnnotation[]) {
    const before = current.remaining;
    const done = await current.evaluateSettled((trial) => trial.evaluate(expression));
    const { value, error } = done.result;
    current = done.evaluator;
    if (error !== undefined && !isIgnored)
      findings.errors.push({ message: error, reason: "Invalid", expressionIndex: 0 });
    if (error === outOfBudget) return;
    if (typeof value === "string" && value.trim() !== "")
      notes.add(`${policyName}/${key}`, value.trim());
    const others = evaluationYield.yieldIfDue(current, before);
    if (others !== undefined) await others;
  }
}

/** The audit annotations of one request, combined per key. */
class PolicyAuditAnnotations {
  readonly #values = new Map<string, Set<string>>();
  readonly #failures: JsonObject[] = [];

  add(key: string, value: string): void {
    const cut = value.slice(0, annotationLengthMax);
    const known = this.#values.get(key);
    if (known === undefined) this.#values.set(key, new Set([cut]));
    else if (known.size < annotationValuesMax) known.add(cut);
  }

  addFailure(failure: {
    readonly message: string;
    readonly policy: string;
    readonly binding: string;
    readonly expressionIndex: number;
    readonly validationActions: readonly string[];
  }): void {
    if (this.#failures.length < annotationValuesMax) this.#failures.push({ ...failure });
  }

  publish({ request }: ReviewedRequest): void {
    for (const [key, values] of this.#values) request.annotate(key, [...values].join(", "));
    if (this.#failures.length > 0)
      request.annotate(
        "validation.policy.admission.k8s.io/validation_failure",
        JSON.stringify(this.#failures),
      );
  }
}

/** The maximum UTF-16 units of one value, approximately as in Kubernetes. */
const annotationLengthMax = 10 * 1024;
/** The maximum number of values under one key. */
const annotationValuesMax = 100;

const codes: ReadonlyMap<string, number> = new Map([
  ["Unauthorized", 401],
  ["Forbidden", 403],
  ["RequestEntityTooLarge", 413],
]);

function denied(
  { name }: Bound,
  { name: binding }: NamedBinding,
  violation: Violation,
  { request }: ReviewedRequest,
): StatusError {
  const by = violation.isOfPolicy === true ? "" : ` with binding '${binding}'`;
  const message = `ValidatingAdmissionPolicy '${name}'${by} denied request: ${violation.message}`;
  const { status } = statusError.forbidden(request, request.name, message);
  return new StatusError({
    ...status,
    reason: violation.reason as StatusReason,
    code: codes.get(violation.reason) ?? 422,
    details: { ...status.details, causes: [{ message }] },
  });
}
