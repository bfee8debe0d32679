/**
 * Records the decisions of authorizers in the audit event of the request, under kcp's names. Costs
 * one property lookup when the request is not audited.
 */
import type { Attributes } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

/** The steps in the order in which they run. */
export const decisionStep = {
  requiredGroups: "01-requiredgroups",
  content: "02-content",
  systemKinds: "03-systemcrd",
  maximalPermissions: "04-maxpermissionpolicy",
  bootstrap: "05-bootstrap",
  local: "05-local",
} as const;

type Step = (typeof decisionStep)[keyof typeof decisionStep];

export function recordDecision(
  { recordDecision: note }: Attributes,
  step: Step,
  decision: Decision,
  reason: string,
): void {
  if (note === undefined) return;
  const isDenied = !decision.allowed && decision.isFinal === true;
  note(step, decision.allowed ? "Allowed" : isDenied ? "Denied" : "NoOpinion", reason);
}

/**
 * The decision of another authorizer, recorded under the names of the authorizers that delegated to
 * it, with their reasons.
 */
export function delegateDecision(
  inner: Authorizer,
  attributes: Attributes,
  steps: readonly (readonly [step: Step, why: string])[],
): Decision | Promise<Decision> {
  const decision = inner.authorize(attributes);
  if (attributes.recordDecision === undefined) return decision;
  const noted = (decided: Decision): Decision => {
    for (const [step, why] of steps)
      recordDecision(attributes, step, decided, `delegating due to ${why}`);
    return decided;
  };
  return decision instanceof Promise ? decision.then(noted) : noted(decision);
}
