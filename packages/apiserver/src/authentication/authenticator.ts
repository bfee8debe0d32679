/**
 * Authentication: credentials become a user, or are refused.
 *
 * This room knows neither HTTP nor storage: whoever holds the socket and the headers fills in `Credentials`.
 */
import type { X509Certificate } from "node:crypto";
import type { UserInfo } from "../request/index.ts";
import type { RequestHeaders } from "./header-values.ts";

export interface Credentials {
  /** The value of the Authorization header, as sent. */
  readonly authorization?: string | undefined;
  /**
   * The certificate the client proved to hold the key of, whoever issued it. Get it once per connection
   * (`getPeerX509Certificate()`): its fingerprint is then computed once.
   */
  readonly clientCertificate?: X509Certificate | undefined;
  /** All headers, for those who are told by them. Looked at by nobody else: to put them side by side takes a tenth of a get. */
  readonly sent?: RequestHeaders | undefined;
  /** Behind the cluster prefix: where strangers may be let in. */
  readonly path?: string | undefined;
}

export interface Authenticator {
  /**
   * The user these credentials belong to, or undefined when there are none of the kind that this authenticator looks at.
   * Throws `AuthenticationError` when there are, and they are not valid.
   */
  authenticate(credentials: Credentials): MaybePromise<UserInfo | undefined>;
  /** Whose token this is, for a review; absent where credentials are no tokens. As `TokenAuthenticator.reviewToken` otherwise. */
  reviewToken?(
    token: string,
    audiences: readonly string[],
  ): MaybePromise<TokenIdentity | undefined>;
}

/** One kind of bearer token: static, signed, … */
export interface TokenAuthenticator {
  /** The token's user, or undefined when the token is none of this kind. Throws `AuthenticationError` when it is, but not valid. */
  authenticateToken(token: string): MaybePromise<UserInfo | undefined>;
  /**
   * The same for somebody else, who accepts tokens that are meant for one of `audiences`. Absent where tokens say nothing of whom they
   * are meant for: they are meant for this server.
   */
  reviewToken?(
    token: string,
    audiences: readonly string[],
  ): MaybePromise<TokenIdentity | undefined>;
}

/** What a review finds out. */
export interface TokenIdentity {
  readonly user: UserInfo;
  /** Those of the audiences asked for that the token is meant for; never empty, unless this server has no audiences. */
  readonly audiences: readonly string[];
}

/** Answers that need no waiting come without a promise: authentication stands before every request. */
export type MaybePromise<Value> = Value | Promise<Value>;
