/**
 * Allowed when one of several authorizers allows; they are asked in order, and no later one is asked after that, nor after a refusal that is
 * final. One that fails to decide does not keep others from allowing; if nobody does, its failure is the answer.
 *
 * A check that must hold whatever stands beside it wraps an authorizer, or stands first and is final.
 */
import type { Attributes } from "../request/index.ts";
import type { Authorizer, Decision } from "./authorizer.ts";

export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return { authorize: (attributes) => consult(authorizers, attributes, start, 0) };
}

/** What those before had to say. */
interface Opinions {
  readonly reasons: string;
  readonly failure: unknown;
}

const start: Opinions = { reasons: "", failure: undefined };

/** Stands before every request: nothing is allocated as long as nobody has a reason to refuse. */
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
          isConclusive(settled)
            ? settled
            : goOn({ reasons: joined(before, settled.reason), failure }),
        (error: unknown) => goOn({ reasons: before, failure: failure ?? error }),
      );
    }
    if (isConclusive(decision)) return decision;
    reasons = joined(reasons, decision.reason);
  }
  if (failure !== undefined) throw failure;
  return reasons === "" ? refused : { allowed: false, reason: reasons };
}

function isConclusive(decision: Decision): boolean {
  return decision.allowed || decision.isFinal === true;
}

const refused: Decision = { allowed: false, reason: "" };

function joined(before: string, reason: string): string {
  if (before === "" || reason === "") return before + reason;
  return `${before}, ${reason}`;
}
