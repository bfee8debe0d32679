/** What authentication asks the store, by whoever wires the two. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { MaybePromise } from "../authenticator.ts";

export interface ServiceAccountTokenGetter {
  /**
   * Where an object is, or would be. Found once for a token and asked on every request that comes with it, so that nothing is worked out twice
   * and nothing is believed for longer than one look.
   */
  place(
    resource: "serviceaccounts" | "secrets",
    address: {
      readonly cluster: ClusterName;
      readonly namespace: string;
      readonly name: string;
    },
  ): AccountObjectGetter;
}

/** The newest state of what is there, or undefined when there is nothing. Without a promise when it is in memory. */
export type AccountObjectGetter = () => MaybePromise<AccountObject | undefined>;

export interface AccountObject {
  readonly uid: string;
  /** When its deletion began, in milliseconds since the epoch. */
  readonly deletedAt: number | undefined;
  /** What a Secret has under `token`, decoded. */
  readonly token: string | undefined;
}
