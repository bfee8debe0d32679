/**
 * Static tokens, indexed by the SHA-256 of each.
 *
 * The duration of a lookup by hash does not reveal how much of a guess is right, because an
 * attacker cannot steer the hash of a guess towards that of a token. The tokens themselves are not
 * kept, except recently used ones.
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

  /**
   * Replaces all tokens; removed tokens are rejected from now on. Throws, and keeps the old tokens,
   * when the new ones are invalid.
   */
  replace(tokens: readonly StaticToken[]): void {
    this.#users = usersOf(tokens);
    this.#recent.clear();
  }

  authenticateToken(token: string): UserInfo | undefined {
    const recent = this.#recent.get(token);
    if (recent !== undefined) return recent;
    const user = this.#users.get(hashToken(token));
    if (user !== undefined) this.#recent.set(token, user);
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

/** The tokens of the two administrators that a control plane creates. */
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
