/**
 * The gate itself: the authenticators in order, then anonymous, then no.
 *
 * Credentials that are shown and not valid are refused even when anonymous requests are allowed: a client with a stale token must
 * hear of it, not be somebody else.
 */
import { anonymousUser, type UserInfo } from "../request/index.ts";
import { withAuthenticatedGroup } from "./authenticated-group.ts";
import type { Authenticator, Credentials, MaybePromise } from "./authenticator.ts";
import { AuthenticationError } from "./errors.ts";
import { firstOf } from "./first-of.ts";

export interface RequestAuthenticatorOptions {
  /** Asked in this order. */
  readonly authenticators: readonly Authenticator[];
  readonly anonymous: boolean;
}

export class RequestAuthenticator {
  readonly #authenticators: readonly Authenticator[];
  readonly #anonymous: boolean;

  constructor(options: RequestAuthenticatorOptions) {
    this.#authenticators = options.authenticators;
    this.#anonymous = options.anonymous;
  }

  /** Throws `AuthenticationError` when the request must be answered with 401. */
  authenticate(credentials: Credentials): MaybePromise<UserInfo> {
    const user = firstOf(this.#authenticators, (each) => each.authenticate(credentials));
    return user instanceof Promise
      ? user.then((resolved) => this.#complete(resolved))
      : this.#complete(user);
  }

  #complete(user: UserInfo | undefined): UserInfo {
    if (user !== undefined) return withAuthenticatedGroup(user);
    if (this.#anonymous) return anonymousUser;
    throw new AuthenticationError("absent", "no credentials, and anonymous requests are off");
  }
}
