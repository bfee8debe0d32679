/**
 * The identities of in-process clients: each user gets a token that lives as long as the process
 * and is never stored.
 *
 * So in-process requests pass the same stages as others; no request is trusted because of its
 * origin. Every request looks its token up here first, by the engine's hash of strings, which has a
 * new seed in every process: the duration of a lookup discloses nothing about a guessed token.
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
