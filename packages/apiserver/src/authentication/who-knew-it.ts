/**
 * Several token authenticators as one: the first who knows a token says whose it is.
 *
 * Who knew a token is asked first when it comes again, so that the others do not look at it with every request (each would hash it, or read
 * its claims). It is asked every time: what it does not accept any more is nobody's, unless one of the others knows it. So the order counts
 * for tokens that are new; one that two of them know belongs to whom it belonged before.
 */
import type { UserInfo } from "../request/index.ts";
import type { MaybePromise, TokenAuthenticator, TokenIdentity } from "./authenticator.ts";
import { firstOf } from "./first-of.ts";
import { RecentTexts } from "./recent-texts.ts";

export class WhoKnewIt implements TokenAuthenticator {
  readonly #inOrder: readonly TokenAuthenticator[];
  /** For each of them: itself, then the others in their order. */
  readonly #beginningWith: ReadonlyMap<TokenAuthenticator, readonly TokenAuthenticator[]>;
  readonly #recent = new RecentTexts<readonly TokenAuthenticator[]>();

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
