/**
 * ReloadableTokenAuthenticator: token authenticators that are replaced together while the server
 * runs.
 */

import type { MaybePromise } from "../request/api-request.ts";
import type { UserInfo } from "../request/index.ts";
import type { TokenAuthenticator, TokenIdentity } from "./authenticator.ts";
import { UnionTokenAuthenticator } from "./bearer-token.ts";

export class ReloadableTokenAuthenticator implements TokenAuthenticator {
  #current: UnionTokenAuthenticator;

  constructor(tokens: readonly TokenAuthenticator[]) {
    this.#current = new UnionTokenAuthenticator(tokens);
  }

  replace(tokens: readonly TokenAuthenticator[]): void {
    this.#current = new UnionTokenAuthenticator(tokens);
  }

  authenticateToken(token: string): MaybePromise<UserInfo | undefined> {
    return this.#current.authenticateToken(token);
  }

  reviewToken(token: string, audiences: readonly string[]): Promise<TokenIdentity | undefined> {
    return this.#current.reviewToken(token, audiences);
  }
}
