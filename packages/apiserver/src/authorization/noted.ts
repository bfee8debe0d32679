/** What an authorizer decided, written down under kcp's names where the request is audited. Costs a look at a member where it is not. */
import type { Attributes } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

/** In the order in which they are asked. */
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
  { note }: Attributes,
  step: Step,
  decision: Decision,
  reason: string,
): void {
  if (note === undefined) return;
  const isDenied = !decision.allowed && decision.isFinal === true;
  note(step, decision.allowed ? "Allowed" : isDenied ? "Denied" : "NoOpinion", reason);
}

/** What another one decides, under the names of those who left it to that one, with why they did. */
export function delegateDecision(
  inner: Authorizer,
  attributes: Attributes,
  steps: readonly (readonly [step: Step, why: string])[],
): Decision | Promise<Decision> {
  const decision = inner.authorize(attributes);
  if (attributes.note === undefined) return decision;
  const noted = (decided: Decision): Decision => {
    for (const [step, why] of steps)
      recordDecision(attributes, step, decided, `delegating due to ${why}`);
    return decided;
  };
  return decision instanceof Promise ? decision.then(noted) : noted(decision);
}
