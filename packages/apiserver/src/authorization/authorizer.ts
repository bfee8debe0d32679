/**
 * Authorization decides whether a user may perform a request. This folder knows no storage and no
 * HTTP; sources of rules are passed in.
 */
import type { Attributes } from "../request/index.ts";

/**
 * `reason` is for people: in the audit log, in reviews, and of a denial after the message of the
 * 403.
 */
export type Decision =
  | { readonly allowed: true; readonly reason: string }
  | {
      readonly allowed: false;
      readonly reason: string;
      /** The denial ends the evaluation: no other authorizer can override it. */
      readonly isFinal?: true;
    };

export interface Authorizer {
  /** Synchronous decisions need no promise. A thrown error is a failure to decide, not a denial. */
  authorize(attributes: Attributes): Decision | Promise<Decision>;
}
