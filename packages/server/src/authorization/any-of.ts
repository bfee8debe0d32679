/**
 * Allowed when one of several authorizers allows; they are asked in order, and no later one is asked after that.
 *
 * There is no "deny" that outvotes another authorizer: a check that must hold in any case wraps an authorizer instead of standing
 * beside it.
 */
import type { Attributes } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

export function anyOf(authorizers: readonly Authorizer[]): Authorizer {
  return { authorize: (attributes) => ask(authorizers, attributes, []) };
}

function ask(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  refusals: readonly string[],
): Decision | Promise<Decision> {
  const [first, ...rest] = authorizers;
  if (first === undefined) {
    return { allowed: false, reason: refusals.filter((reason) => reason !== "").join(", ") };
  }
  const settle = (decision: Decision) =>
    decision.allowed ? decision : ask(rest, attributes, [...refusals, decision.reason]);
  const decision = first.authorize(attributes);
  return decision instanceof Promise ? decision.then(settle) : settle(decision);
}
