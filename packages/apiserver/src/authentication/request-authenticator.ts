/**
 * The gate itself: the authenticators in order, then anonymous, then no.
 *
 * Credentials that are shown and not valid are refused even when anonymous requests are allowed: a client with a stale token must
 * hear of it, not be somebody else.
 */
import { anonymousUser, type UserInfo, wellKnownGroup } from "../request/index.ts";
import type { Authenticator, Credentials, MaybePromise, TokenIdentity } from "./authenticator.ts";
import { firstOf } from "./bearer-token.ts";
import { AuthenticationError } from "./errors.ts";
import type { AnonymousConfiguration } from "./oidc/authentication-configuration.ts";

export interface RequestAuthenticatorOptions {
  /** Asked in this order. */
  readonly authenticators: readonly Authenticator[];
  /** Whether strangers are let in, and where; a function is asked for each of them. */
  readonly anonymous: boolean | (() => AnonymousConfiguration);
}

export class RequestAuthenticator {
  readonly #authenticators: readonly Authenticator[];
  readonly #strangers: () => AnonymousConfiguration;

  constructor(options: RequestAuthenticatorOptions) {
    this.#authenticators = options.authenticators;
    const { anonymous } = options;
    const fixed = { enabled: anonymous === true, paths: undefined };
    this.#strangers = typeof anonymous === "function" ? anonymous : () => fixed;
  }

  /** Throws `AuthenticationError` when the request must be answered with 401. */
  authenticate(credentials: Credentials): MaybePromise<UserInfo> {
    const user = firstOf(this.#authenticators, (each) => each.authenticate(credentials));
    return user instanceof Promise
      ? user.then((resolved) => this.#complete(resolved, credentials))
      : this.#complete(user, credentials);
  }

  /**
   * Whose token this is, for somebody who accepts tokens meant for one of `audiences` (this server's own when there are none).
   * Throws `AuthenticationError` when it is nobody's, not valid, or meant for others.
   */
  reviewToken(token: string, audiences: readonly string[] = []): MaybePromise<TokenIdentity> {
    const identity = firstOf(this.#authenticators, (each) => each.reviewToken?.(token, audiences));
    return identity instanceof Promise ? identity.then(reviewed) : reviewed(identity);
  }

  #complete(user: UserInfo | undefined, { path = "" }: Credentials): UserInfo {
    if (user !== undefined) return withAuthenticatedGroup(user);
    const { enabled, paths } = this.#strangers();
    if (enabled && paths?.includes(path) !== false) return anonymousUser;
    throw new AuthenticationError("absent", "no credentials, and anonymous requests are off");
  }
}

function reviewed(identity: TokenIdentity | undefined): TokenIdentity {
  if (identity === undefined)
    throw new AuthenticationError("invalid-token", "invalid bearer token");
  return { ...identity, user: withAuthenticatedGroup(identity.user) };
}

/** The user as a member of `system:authenticated`; the same object when it is one (or says that it is not authenticated) already. */
export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { groups } = user;
  return groups.includes(wellKnownGroup.authenticated) ||
    groups.includes(wellKnownGroup.unauthenticated)
    ? user
    : { ...user, groups: [...groups, wellKnownGroup.authenticated] };
}
