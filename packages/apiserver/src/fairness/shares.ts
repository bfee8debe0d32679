/**
 * Whose share a request takes: its logical cluster's, once the cluster has been seen to exist.
 *
 * Names of clusters are the client's to invent. Whoever asks for clusters that nobody has shown to exist takes one share with all of them,
 * their own; strangers take one all together. A cluster is shown by a request that somebody was let in with, or that found or stored
 * something.
 */
import { ownText } from "../request/own-text.ts";
import type { RequestScope } from "../request/request-scope.ts";
import { anonymousUser, clusterNameKey, type UserInfo } from "../request/user.ts";

/** Beyond it the cluster that was shown first is forgotten first, until it is shown again. */
export const shownClustersMax = 20_000;

export class Shares {
  readonly #shown = new Set<string>();

  shareOf(user: UserInfo, scope: RequestScope): string {
    if (user === anonymousUser) return "";
    const { cluster } = scope;
    if (this.#shown.has(cluster)) return cluster;
    // No cluster's name has a blank in it.
    return `${user.extra?.[clusterNameKey]?.[0] ?? ""} ${user.username}`;
  }

  show(cluster: string): void {
    if (this.#shown.has(cluster)) return;
    if (this.#shown.size >= shownClustersMax) {
      const [first] = this.#shown;
      this.#shown.delete(first as string);
    }
    this.#shown.add(ownText(cluster));
  }

  /** It is gone. */
  forget(cluster: string): void {
    this.#shown.delete(cluster);
  }

  get size(): number {
    return this.#shown.size;
  }
}
