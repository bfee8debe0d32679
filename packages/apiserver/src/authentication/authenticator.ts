/**
 * Authentication maps credentials to a user, or rejects them.
 *
 * This folder knows neither HTTP nor storage: the caller fills in `Credentials` from the socket and
 * the headers.
 */

import type { X509Certificate } from "node:crypto";
import type { MaybePromise } from "../request/api-request.ts";
import type { UserInfo } from "../request/index.ts";
import type { RequestHeaders } from "./header-values.ts";

export interface Credentials {
  /** The value of the Authorization header, as sent. */
  readonly authorization?: string | undefined;
  /**
   * The certificate whose key the client has proved to hold, of any issuer. Read it once per
   * connection (`getPeerX509Certificate()`): its fingerprint is then computed once.
   */
  readonly clientCertificate?: X509Certificate | undefined;
  /**
   * All headers, for the authenticator of front proxies. No other authenticator reads them:
   * collecting them takes a tenth of a get.
   */
  readonly sentHeaders?: RequestHeaders | undefined;
  /** The path after the cluster prefix: anonymous requests may be allowed for some paths. */
  readonly path?: string | undefined;
}

export interface Authenticator {
  /**
   * The user of these credentials, or undefined when there are none of the kind that this
   * authenticator checks. Throws `AuthenticationError` when there are, and they are not valid.
   */
  authenticate(credentials: Credentials): MaybePromise<UserInfo | undefined>;
  /**
   * The identity of a token, for a TokenReview; absent when the credentials are no tokens.
   * Otherwise like `TokenAuthenticator.reviewToken`.
   */
  reviewToken?(token: string, audiences: readonly string[]): Promise<TokenIdentity | undefined>;
}

/** One kind of bearer token: static, signed, … */
export interface TokenAuthenticator {
  /**
   * The user of the token, or undefined when the token is not of this kind. Throws
   * `AuthenticationError` when it is, but not valid.
   */
  authenticateToken(token: string): MaybePromise<UserInfo | undefined>;
  /**
   * The identity of a token for a service that accepts tokens for one of `audiences`. Absent when
   * tokens name no audiences: they are for this server.
   */
  reviewToken?(token: string, audiences: readonly string[]): Promise<TokenIdentity | undefined>;
}

/** The result of a TokenReview. */
export interface TokenIdentity {
  readonly user: UserInfo;
  /**
   * The requested audiences that the token has; never empty, unless this server has no audiences.
   */
  readonly audiences: readonly string[];
}
