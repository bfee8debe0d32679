/**
 * `Authorization: Bearer <token>`: the syntax of the header, and the authenticators of the tokens.
 */

import type { MaybePromise } from "../request/api-request.ts";
import type { UserInfo } from "../request/index.ts";
import type {
  Authenticator,
  Credentials,
  TokenAuthenticator,
  TokenIdentity,
} from "./authenticator.ts";
import { AuthenticationError, isAuthenticationError } from "./errors.ts";

/** Signed tokens with many groups reach a few KiB; Node limits all headers together to 16 KiB. */
export const tokenLengthMax = 16 * 1024;

export class BearerTokenAuthenticator implements Authenticator {
  readonly #tokens: readonly TokenAuthenticator[];
  readonly #known: UnionTokenAuthenticator;
  readonly #audiences: readonly string[];
  /**
   * The tokens by header: a repeated header is the same string, whose hash the engine has cached.
   */
  readonly #recent = new BoundedCache<string>();

  /** `audiences` are those of this server, which tokens without audiences are for. */
  constructor(tokens: readonly TokenAuthenticator[], audiences: readonly string[] = []) {
    this.#tokens = tokens;
    this.#known = new UnionTokenAuthenticator(tokens);
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
    if (recent === undefined && user !== undefined) this.#recent.set(authorization, token);
    return user ?? known(user);
  }

  /** Throws as `authenticate` does. Without requested audiences, those of this server apply. */
  async reviewToken(token: string, audiences: readonly string[]): Promise<TokenIdentity> {
    checkLength(token);
    const asked = audiences.length === 0 ? this.#audiences : audiences;
    const identity = await firstOf(this.#tokens, (each) =>
      each.reviewToken === undefined
        ? this.#reviewForApiAudiences(each, token, asked)
        : each.reviewToken(token, asked),
    );
    return known(identity);
  }

  async #reviewForApiAudiences(
    tokens: TokenAuthenticator,
    token: string,
    asked: readonly string[],
  ): Promise<TokenIdentity | undefined> {
    const audiences = asked.filter((audience) => this.#audiences.includes(audience));
    if (audiences.length === 0 && asked.length > 0) return undefined;
    const user = await tokens.authenticateToken(token);
    return user && { user, audiences };
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
 * The token, or undefined when the header has none. As in Kubernetes: another scheme or an empty
 * token counts as no credentials, and text after a second space is ignored.
 */
export function parseBearerToken(authorization: string): string | undefined {
  const [scheme, token] = authorization.trim().split(" ", 2);
  return scheme?.toLowerCase() === "bearer" && token ? token : undefined;
}

function known<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new AuthenticationError("invalid-token", "invalid bearer token");
  return found;
}

// UnionTokenAuthenticator combines several token authenticators: the first that knows a token
// determines its user.
//
// The authenticator that accepted a token is tried first when the token comes again, so that the
// others do not process it with every request (each would hash it, or parse its claims). That
// authenticator checks the token every time: a token that it no longer accepts is rejected, unless
// one of the others accepts it. The order therefore applies to new tokens; a token that two
// authenticators know keeps its user.

export class UnionTokenAuthenticator implements TokenAuthenticator {
  readonly #inOrder: readonly TokenAuthenticator[];
  /** For each authenticator: itself, then the others in their order. */
  readonly #beginningWith: ReadonlyMap<TokenAuthenticator, readonly TokenAuthenticator[]>;
  readonly #recent = new BoundedCache<readonly TokenAuthenticator[]>();

  constructor(tokens: readonly TokenAuthenticator[]) {
    this.#inOrder = tokens;
    this.#beginningWith = new Map(
      tokens.map((each) => [each, [each, ...tokens.filter((other) => other !== each)]]),
    );
  }

  authenticateToken(token: string): MaybePromise<UserInfo | undefined> {
    const recent = this.#recent.get(token);
    let asked: TokenAuthenticator | undefined;
    const user = firstOf(recent ?? this.#inOrder, (each) => {
      asked = each;
      return each.authenticateToken(token);
    });
    if (user === undefined || user instanceof Promise || asked === recent?.[0]) return user;
    const order = asked && this.#beginningWith.get(asked);
    if (order !== undefined) this.#recent.set(token, order);
    return user;
  }

  /** Uncached: reviews are few. */
  async reviewToken(
    token: string,
    audiences: readonly string[],
  ): Promise<TokenIdentity | undefined> {
    return firstOf(this.#inOrder, (each) => each.reviewToken?.(token, audiences));
  }
}

// firstOf tries the sources in order until one knows the user.
//
// A rejection does not end the search, since a later source may accept (a client may send a stale
// certificate and a valid token); if none does, the first rejection is the result. Stays
// synchronous as long as the sources are.

export function firstOf<Source, Answer extends object>(
  sources: readonly Source[],
  ask: (source: Source) => MaybePromise<Answer | undefined>,
  start = 0,
  refusal?: AuthenticationError,
): MaybePromise<Answer | undefined> {
  for (let at = start; at < sources.length; at++) {
    try {
      const answer = ask(sources[at] as Source);
      if (answer instanceof Promise) return answer.then(next(at), failed(at));
      if (answer !== undefined) return answer;
    } catch (error) {
      refusal = refusalOrThrow(error, refusal);
    }
  }
  if (refusal !== undefined) throw refusal;
  return undefined;

  function next(at: number) {
    return (answer: Answer | undefined) => answer ?? firstOf(sources, ask, at + 1, refusal);
  }

  function failed(at: number) {
    return (error: unknown) => firstOf(sources, ask, at + 1, refusalOrThrow(error, refusal));
  }
}

function refusalOrThrow(
  error: unknown,
  earlier: AuthenticationError | undefined,
): AuthenticationError {
  if (!isAuthenticationError(error)) throw error;
  return earlier ?? error;
}

/**
 * BoundedCache: results for recent texts, such as tokens, which are long and come with every
 * request.
 *
 * Texts are found by the hash that the engine computes, with a seed of each process: the duration
 * of a lookup does not reveal how much of a guess is right. Only accepted credentials may be
 * cached, so that unauthenticated clients cannot evict them.
 */
export class BoundedCache<Finding> extends Map<string, Finding> {
  override set(text: string, finding: Finding): this {
    if (this.size >= boundedCacheMax && !this.has(text)) this.clear();
    return super.set(text, finding);
  }
}

/**
 * The number of entries; one more clears the cache. Entries in use soon return, and no usage needs
 * to be tracked.
 */
export const boundedCacheMax = 1024;
