/** `Authorization: Bearer <token>`: the header's syntax, and the tokens' authenticators behind it. */
import type { UserInfo } from "../request/index.ts";
import type {
  Authenticator,
  Credentials,
  MaybePromise,
  TokenAuthenticator,
} from "./authenticator.ts";
import { AuthenticationError } from "./errors.ts";
import { firstOf } from "./first-of.ts";

/** Signed tokens with many groups reach a few KiB; a header as a whole is limited by Node to 16 KiB. */
export const tokenLengthMax = 16 * 1024;

export class BearerTokenAuthenticator implements Authenticator {
  readonly #tokens: readonly TokenAuthenticator[];

  constructor(tokens: readonly TokenAuthenticator[]) {
    this.#tokens = tokens;
  }

  authenticate({ authorization }: Credentials): MaybePromise<UserInfo | undefined> {
    const token = authorization === undefined ? undefined : parseBearerToken(authorization);
    if (token === undefined) return undefined;
    if (token.length > tokenLengthMax) {
      throw new AuthenticationError(
        "token-too-long",
        `bearer token of ${token.length} characters, the limit is ${tokenLengthMax}`,
      );
    }
    const user = firstOf(this.#tokens, (each) => each.authenticateToken(token));
    return user instanceof Promise ? user.then(known) : known(user);
  }
}

/**
 * The token, or undefined when the header holds none. As in Kubernetes: another scheme or an empty token counts as no
 * credentials, and what follows behind a second space is ignored.
 */
export function parseBearerToken(authorization: string): string | undefined {
  const [scheme, token] = authorization.trim().split(" ", 2);
  return scheme?.toLowerCase() === "bearer" && token ? token : undefined;
}

function known(user: UserInfo | undefined): UserInfo {
  if (user === undefined) throw new AuthenticationError("invalid-token", "invalid bearer token");
  return user;
}
