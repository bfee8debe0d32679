/**
 * unionAuthorizer permits a request when one of several authorizers permits it; they run in order,
 * and none runs after a permission or a final denial. An authorizer that fails to decide does not
 * keep others from permitting; if none does, its error is the result.
 *
 * A check that must always hold wraps an authorizer, or is the first and its denial is final.
 */
import type { Attributes } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return { authorize: (attributes) => consult(authorizers, attributes, start, 0) };
}

/** The results of the previous authorizers. */
interface Opinions {
  readonly reasons: string;
  readonly failure: unknown;
}

const start: Opinions = { reasons: "", failure: undefined };

/** Runs for every request: nothing is allocated as long as no authorizer gives a reason to deny. */
function consult(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  heard: Opinions,
  from: number,
): Decision | Promise<Decision> {
  const { failure } = heard;
  let { reasons } = heard;
  for (let at = from; at < authorizers.length; at++) {
    const decision = (authorizers[at] as Authorizer).authorize(attributes);
    if (decision instanceof Promise) {
      const before = reasons;
      const goOn = (next: Opinions) => consult(authorizers, attributes, next, at + 1);
      return decision.then(
        (settled) =>
          settled.allowed || settled.isFinal === true
            ? settled
            : goOn({ reasons: joined(before, settled.reason), failure }),
        (error: unknown) => goOn({ reasons: before, failure: failure ?? error }),
      );
    }
    if (decision.allowed || decision.isFinal === true) return decision;
    reasons = joined(reasons, decision.reason);
  }
  if (failure !== undefined) throw failure;
  return reasons === "" ? refused : { allowed: false, reason: reasons };
}

const refused: Decision = { allowed: false, reason: "" };

function joined(before: string, reason: string): string {
  if (before === "" || reason === "") return before + reason;
  return `${before}, ${reason}`;
}
