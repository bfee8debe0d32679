/** What authentication asks the store, by whoever wires the two. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { MaybePromise } from "../authenticator.ts";

export interface AccountObjects {
  /**
   * The newest state of an object, or undefined when there is none. Without a promise when it is in memory: it is asked on every request
   * that comes with a service account's token.
   */
  find(
    resource: "serviceaccounts" | "secrets",
    address: {
      readonly cluster: ClusterName;
      readonly namespace: string;
      readonly name: string;
    },
  ): MaybePromise<AccountObject | undefined>;
}

export interface AccountObject {
  readonly uid: string;
  /** When its deletion began, in milliseconds since the epoch. */
  readonly deletedAt: number | undefined;
  /** What a Secret has under `token`, decoded. */
  readonly token: string | undefined;
}
