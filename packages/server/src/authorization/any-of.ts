/**
 * Allowed when one of several authorizers allows; they are asked in order, and no later one is asked after that.
 *
 * There is no "deny" that outvotes another authorizer: a check that must hold in any case wraps an authorizer instead of standing
 * beside it.
 */
import type { Attributes } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

export function anyOf(authorizers: readonly Authorizer[]): Authorizer {
  return { authorize: (attributes) => ask(authorizers, attributes, 0, "") };
}

/** Stands before every request: nothing is allocated as long as nobody has a reason to refuse. */
function ask(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  from: number,
  refusals: string,
): Decision | Promise<Decision> {
  let reasons = refusals;
  for (let at = from; at < authorizers.length; at++) {
    const decision = (authorizers[at] as Authorizer).authorize(attributes);
    if (decision instanceof Promise) {
      const before = reasons;
      return decision.then((settled) =>
        settled.allowed
          ? settled
          : ask(authorizers, attributes, at + 1, joined(before, settled.reason)),
      );
    }
    if (decision.allowed) return decision;
    reasons = joined(reasons, decision.reason);
  }
  return reasons === "" ? refused : { allowed: false, reason: reasons };
}

const refused: Decision = { allowed: false, reason: "" };

function joined(before: string, reason: string): string {
  if (before === "" || reason === "") return before + reason;
  return `${before}, ${reason}`;
}
