/** TokenSource issues the tokens of service accounts, as the handler needs it. */
import type { ClusterName } from "@kcp-ts/machinery/names";

export interface TokenSource {
  /** The audiences of this server. */
  readonly audiences: readonly string[];
  issue(wish: {
    readonly account: {
      readonly cluster: ClusterName;
      readonly namespace: string;
      readonly name: string;
      readonly uid: string;
    };
    readonly secret?: { readonly name: string; readonly uid: string } | undefined;
    readonly audiences: readonly string[];
    readonly expirationSeconds: number;
  }): {
    readonly token: string;
    /** Milliseconds since the epoch. */
    readonly expiresAt: number;
  };
}
