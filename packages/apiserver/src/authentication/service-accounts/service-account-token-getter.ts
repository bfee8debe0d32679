/** The objects that authentication reads from the store; wiring implements it. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { MaybePromise } from "../../request/api-request.ts";

export interface ServiceAccountTokenGetter {
  /**
   * A getter for the object at a location, which need not exist. Created once for a token and
   * called for every request with the token, so that nothing is computed twice and every request
   * reads the current state.
   */
  getter(
    resource: "serviceaccounts" | "secrets",
    address: { readonly cluster: ClusterName; readonly namespace: string; readonly name: string },
  ): AccountObjectGetter;
}

/**
 * The newest state of the object, or undefined when it does not exist. Synchronous when it is in
 * memory.
 */
export type AccountObjectGetter = () => MaybePromise<AccountObject | undefined>;

export interface AccountObject {
  readonly uid: string;
  /** The deletionTimestamp, in milliseconds since the epoch. */
  readonly deletedAt: number | undefined;
  /** The decoded `token` of a Secret. */
  readonly token: string | undefined;
}
