/**
 * Who programs in this process are to the server: each user gets a token that lives as long as the process and is written nowhere.
 *
 * So in-process requests pass the same gates as others; nothing is let through for where it comes from. Every request asks here first, so tokens are
 * found by the hash that the engine has of texts, which is seeded anew in every process: how long that takes says nothing of how much of a guess is right.
 */
import { randomBytes } from "node:crypto";
import type { UserInfo } from "@kcp-ts/apiserver";

const tokenBytes = 32;

export class InProcessIdentities {
  readonly #users = new Map<string, UserInfo>();
  readonly #tokens = new Map<string, string>();

  /** The same user gets the same token. */
  tokenFor(user: UserInfo): string {
    const key = JSON.stringify([user.username, user.uid ?? "", user.groups, user.extra ?? {}]);
    let token = this.#tokens.get(key);
    if (token === undefined) {
      token = randomBytes(tokenBytes).toString("base64url");
      this.#tokens.set(key, token);
      this.#users.set(token, user);
    }
    return token;
  }

  authenticateToken(token: string): UserInfo | undefined {
    return this.#users.get(token);
  }
}
