/** `Authorization: Bearer <token>`: the header's syntax, and the tokens' authenticators behind it. */
import type { UserInfo } from "../request/index.ts";
import type {
  Authenticator,
  Credentials,
  MaybePromise,
  TokenAuthenticator,
  TokenIdentity,
} from "./authenticator.ts";
import { AuthenticationError } from "./errors.ts";
import { firstOf } from "./first-of.ts";
import { RecentTexts } from "./recent-texts.ts";
import { WhoKnewIt } from "./who-knew-it.ts";

/** Signed tokens with many groups reach a few KiB; a header as a whole is limited by Node to 16 KiB. */
export const tokenLengthMax = 16 * 1024;

export class BearerTokenAuthenticator implements Authenticator {
  readonly #tokens: readonly TokenAuthenticator[];
  readonly #known: WhoKnewIt;
  readonly #audiences: readonly string[];
  /** The tokens of headers: the same text each time, whose hash the engine knows by then. */
  readonly #recent = new RecentTexts<string>();

  /** `audiences` are this server's own: whom tokens are meant for that say nothing of it. */
  constructor(tokens: readonly TokenAuthenticator[], audiences: readonly string[] = []) {
    this.#tokens = tokens;
    this.#known = new WhoKnewIt(tokens);
    this.#audiences = audiences;
  }

  authenticate({ authorization }: Credentials): MaybePromise<UserInfo | undefined> {
    if (authorization === undefined) return undefined;
    const recent = this.#recent.get(authorization);
    const token = recent ?? parseBearerToken(authorization);
    if (token === undefined) return undefined;
    if (recent === undefined) checkLength(token);
    const user = this.#known.authenticateToken(token);
    if (user instanceof Promise) return user.then(known);
    if (recent === undefined && user !== undefined) this.#recent.keep(authorization, token);
    return known(user);
  }

  /** Throws as `authenticate` does. No audiences asked for are those of this server. */
  reviewToken(token: string, audiences: readonly string[]): MaybePromise<TokenIdentity> {
    checkLength(token);
    const asked = audiences.length === 0 ? this.#audiences : audiences;
    const identity = firstOf(this.#tokens, (each) =>
      each.reviewToken === undefined
        ? this.#reviewForOurselves(each, token, asked)
        : each.reviewToken(token, asked),
    );
    return identity instanceof Promise ? identity.then(known) : known(identity);
  }

  #reviewForOurselves(
    tokens: TokenAuthenticator,
    token: string,
    asked: readonly string[],
  ): MaybePromise<TokenIdentity | undefined> {
    const audiences = asked.filter((audience) => this.#audiences.includes(audience));
    if (audiences.length === 0 && asked.length > 0) return undefined;
    const user = tokens.authenticateToken(token);
    const identity = (found: UserInfo | undefined) => found && { user: found, audiences };
    return user instanceof Promise ? user.then(identity) : identity(user);
  }
}

function checkLength(token: string): void {
  if (token.length <= tokenLengthMax) return;
  throw new AuthenticationError(
    "token-too-long",
    `bearer token of ${token.length} characters, the limit is ${tokenLengthMax}`,
  );
}

/**
 * The token, or undefined when the header holds none. As in Kubernetes: another scheme or an empty token counts as no
 * credentials, and what follows behind a second space is ignored.
 */
export function parseBearerToken(authorization: string): string | undefined {
  const [scheme, token] = authorization.trim().split(" ", 2);
  return scheme?.toLowerCase() === "bearer" && token ? token : undefined;
}

function known<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new AuthenticationError("invalid-token", "invalid bearer token");
  return found;
}
