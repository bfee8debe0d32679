/**
 * Authorization: may this user do this? This room knows no storage and no HTTP; sources of rules are handed in.
 */
import type { Attributes } from "../request/index.ts";

/** `reason` is for the audit log; what a client may see of it is the answerer's choice. */
export type Decision =
  | { readonly allowed: true; readonly reason: string }
  | { readonly allowed: false; readonly reason: string };

export interface Authorizer {
  /** Decisions that need no waiting come without a promise. A thrown error is a failure to decide, not a refusal. */
  authorize(attributes: Attributes): Decision | Promise<Decision>;
}
