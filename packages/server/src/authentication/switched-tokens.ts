/** Token authenticators that are replaced as a whole while the server runs. */
import type { UserInfo } from "../request/index.ts";
import type { MaybePromise, TokenAuthenticator, TokenIdentity } from "./authenticator.ts";
import { firstOf } from "./first-of.ts";

export class SwitchedTokens implements TokenAuthenticator {
  #current: readonly TokenAuthenticator[];

  constructor(tokens: readonly TokenAuthenticator[]) {
    this.#current = tokens;
  }

  switchTo(tokens: readonly TokenAuthenticator[]): void {
    this.#current = tokens;
  }

  authenticateToken(token: string): MaybePromise<UserInfo | undefined> {
    return firstOf(this.#current, (each) => each.authenticateToken(token));
  }

  reviewToken(
    token: string,
    audiences: readonly string[],
  ): MaybePromise<TokenIdentity | undefined> {
    return firstOf(this.#current, (each) => each.reviewToken?.(token, audiences));
  }
}
