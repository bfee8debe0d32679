/**
 * Authorization: may this user do this? This room knows no storage and no HTTP; sources of rules are handed in.
 */
import type { Attributes } from "../request/index.ts";

/** `reason` is for people: in the audit log, in reviews, and of a refusal behind the text of the 403. */
export type Decision =
  | { readonly allowed: true; readonly reason: string }
  | {
      readonly allowed: false;
      readonly reason: string;
      /** Nobody else is asked: a refusal that no other authorizer outvotes. */
      readonly isFinal?: true;
    };

export interface Authorizer {
  /** Decisions that need no waiting come without a promise. A thrown error is a failure to decide, not a refusal. */
  authorize(attributes: Attributes): Decision | Promise<Decision>;
}
