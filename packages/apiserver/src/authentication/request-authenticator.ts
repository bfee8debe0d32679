/**
 * RequestAuthenticator tries the authenticators in order, then anonymous access, and then rejects
 * the request.
 *
 * Invalid credentials are rejected even when anonymous requests are allowed: a client with a stale
 * token must get an error, and not act as another user.
 */

import type { MaybePromise } from "../request/api-request.ts";
import { anonymousUser, type UserInfo, wellKnownGroup } from "../request/index.ts";
import type { Authenticator, Credentials, TokenIdentity } from "./authenticator.ts";
import { firstOf } from "./bearer-token.ts";
import { AuthenticationError } from "./errors.ts";
import type { AnonymousConfiguration } from "./oidc/authentication-configuration.ts";

export interface RequestAuthenticatorOptions {
  /** The authenticators in the order in which they are tried. */
  readonly authenticators: readonly Authenticator[];
  /**
   * Whether anonymous requests are allowed, and for which paths; a function is called for each of
   * them.
   */
  readonly anonymous: boolean | (() => AnonymousConfiguration);
}

export class RequestAuthenticator {
  readonly #authenticators: readonly Authenticator[];
  readonly #anonymous: () => AnonymousConfiguration;

  constructor(options: RequestAuthenticatorOptions) {
    this.#authenticators = options.authenticators;
    const { anonymous } = options;
    const fixed = { enabled: anonymous === true, paths: undefined };
    this.#anonymous = typeof anonymous === "function" ? anonymous : () => fixed;
  }

  /** Throws `AuthenticationError` when the response must be 401. */
  authenticate(credentials: Credentials): MaybePromise<UserInfo> {
    const user = firstOf(this.#authenticators, (each) => each.authenticate(credentials));
    return user instanceof Promise
      ? user.then((resolved) => this.#complete(resolved, credentials))
      : this.#complete(user, credentials);
  }

  /**
   * The identity of a token, for a service that accepts tokens for one of `audiences` (those of
   * this server when there are none). Throws `AuthenticationError` when the token is unknown,
   * invalid, or for other audiences.
   */
  async reviewToken(token: string, audiences: readonly string[] = []): Promise<TokenIdentity> {
    const review = (each: Authenticator) => each.reviewToken?.(token, audiences);
    return reviewed(await firstOf(this.#authenticators, review));
  }

  #complete(user: UserInfo | undefined, { path = "" }: Credentials): UserInfo {
    if (user !== undefined)
      return user.groups.includes(wellKnownGroup.authenticated)
        ? user
        : withAuthenticatedGroup(user);
    const { enabled, paths } = this.#anonymous();
    if (enabled && paths?.includes(path) !== false) return anonymousUser;
    throw new AuthenticationError("absent", "no credentials, and anonymous requests are off");
  }
}

function reviewed(identity: TokenIdentity | undefined): TokenIdentity {
  if (identity === undefined)
    throw new AuthenticationError("invalid-token", "invalid bearer token");
  return { ...identity, user: withAuthenticatedGroup(identity.user) };
}

/**
 * The user as a member of `system:authenticated`; the identical object when the user already is one
 * (or of `system:unauthenticated`).
 */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { groups } = user;
  return groups.includes(wellKnownGroup.authenticated) ||
    groups.includes(wellKnownGroup.unauthenticated)
    ? user
    : { ...user, groups: [...groups, wellKnownGroup.authenticated] };
}
