/** `Authorization: Bearer <token>`: the header's syntax, and the tokens' authenticators behind it. */
import type { UserInfo } from "../request/index.ts";
import type {
  Authenticator,
  Credentials,
  MaybePromise,
  TokenAuthenticator,
  TokenIdentity,
} from "./authenticator.ts";
import { AuthenticationError, isAuthenticationError } from "./errors.ts";

/** Signed tokens with many groups reach a few KiB; a header as a whole is limited by Node to 16 KiB. */
export const tokenLengthMax = 16 * 1024;

export class BearerTokenAuthenticator implements Authenticator {
  readonly #tokens: readonly TokenAuthenticator[];
  readonly #known: UnionTokenAuthenticator;
  readonly #audiences: readonly string[];
  /** The tokens of headers: the same text each time, whose hash the engine knows by then. */
  readonly #recent = new BoundedCache<string>();

  /** `audiences` are this server's own: whom tokens are meant for that say nothing of it. */
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

// Several token authenticators as one: the first who knows a token says whose it is.
//
// Who knew a token is asked first when it comes again, so that the others do not look at it with every request (each would hash it, or read
// its claims). It is asked every time: what it does not accept any more is nobody's, unless one of the others knows it. So the order counts
// for tokens that are new; one that two of them know belongs to whom it belonged before.

export class UnionTokenAuthenticator implements TokenAuthenticator {
  readonly #inOrder: readonly TokenAuthenticator[];
  /** For each of them: itself, then the others in their order. */
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
    if (order !== undefined) this.#recent.keep(token, order);
    return user;
  }

  /** Without a memory: reviews are few. */
  reviewToken(
    token: string,
    audiences: readonly string[],
  ): MaybePromise<TokenIdentity | undefined> {
    return firstOf(this.#inOrder, (each) => each.reviewToken?.(token, audiences));
  }
}

// Asks one after the other until one knows the user.
//
// A refusal does not end the search, since a later one may still accept (a client may show a stale certificate and a good
// token); if none does, the first refusal stands. Stays synchronous as long as the answers are.

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
 * What was found out about a text lately, so that it is not found out again with every request: tokens are long, and come again and again.
 *
 * Texts are found by the hash that the engine has of them, which is seeded anew in every process: how long a search takes says nothing of how
 * much of a guess is right. Only what was accepted is to be kept here, so that strangers cannot push it out.
 */
export class BoundedCache<Finding> {
  readonly #findings = new Map<string, Finding>();

  get(text: string): Finding | undefined {
    return this.#findings.get(text);
  }

  keep(text: string, finding: Finding): void {
    if (this.#findings.size >= boundedCacheMax) this.#findings.clear();
    this.#findings.set(text, finding);
  }

  forget(): void {
    this.#findings.clear();
  }
}

/** When there are more, all are forgotten: what is in use is soon back, and nobody keeps count for it. */
export const boundedCacheMax = 1024;
