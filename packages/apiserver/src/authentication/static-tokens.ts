/**
 * Tokens that are known beforehand, by the SHA-256 of each.
 *
 * The hash is the index: how long a lookup takes says nothing about how much of a guess was right, because nobody can steer the hash of
 * a guess towards that of a token. The tokens themselves are not kept, but for those that were shown lately.
 */
import { hash } from "node:crypto";
import { type UserInfo, wellKnownGroup, wellKnownUser } from "../request/index.ts";
import type { TokenAuthenticator } from "./authenticator.ts";
import { BoundedCache } from "./bearer-token.ts";
import { AuthenticationConfigurationError } from "./errors.ts";
import { withAuthenticatedGroup } from "./request-authenticator.ts";

export interface StaticToken {
  /** SHA-256 of the token's UTF-8 bytes, in lower-case hex. */
  readonly tokenHash: string;
  readonly user: UserInfo;
}

export class StaticTokenAuthenticator implements TokenAuthenticator {
  #users: ReadonlyMap<string, UserInfo>;
  readonly #recent = new BoundedCache<UserInfo>();

  constructor(tokens: readonly StaticToken[]) {
    this.#users = usersOf(tokens);
  }

  /** Those that are not among the new ones are out from here on. Throws, and keeps the old ones, when they are no good. */
  replace(tokens: readonly StaticToken[]): void {
    this.#users = usersOf(tokens);
    this.#recent.forget();
  }

  authenticateToken(token: string): UserInfo | undefined {
    const recent = this.#recent.get(token);
    if (recent !== undefined) return recent;
    const user = this.#users.get(hashToken(token));
    if (user !== undefined) this.#recent.keep(token, user);
    return user;
  }
}

function usersOf(tokens: readonly StaticToken[]): ReadonlyMap<string, UserInfo> {
  const users = new Map<string, UserInfo>();
  for (const { tokenHash, user } of tokens) {
    if (!/^[0-9a-f]{64}$/.test(tokenHash)) {
      throw new AuthenticationConfigurationError(
        `the token hash of user "${user.username}" is not a SHA-256 in lower-case hex`,
      );
    }
    users.set(tokenHash, withAuthenticatedGroup(user));
  }
  return users;
}

/** The two administrators that a control plane makes for itself. */
export function adminTokens(hashes: {
  readonly adminTokenHash: string;
  readonly shardAdminTokenHash: string;
}): readonly StaticToken[] {
  return [
    {
      tokenHash: hashes.adminTokenHash,
      user: { username: wellKnownUser.kcpAdmin, groups: [wellKnownGroup.kcpAdmin] },
    },
    {
      tokenHash: hashes.shardAdminTokenHash,
      user: { username: wellKnownUser.shardAdmin, groups: [wellKnownGroup.masters] },
    },
  ];
}

export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}
