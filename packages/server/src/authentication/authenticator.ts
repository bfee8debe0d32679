/**
 * Authentication: credentials become a user, or are refused.
 *
 * This room knows neither HTTP nor storage: whoever holds the socket and the headers fills in `Credentials`.
 */
import type { X509Certificate } from "node:crypto";
import type { UserInfo } from "../request/index.ts";

export interface Credentials {
  /** The value of the Authorization header, as sent. */
  readonly authorization?: string | undefined;
  /**
   * The certificate the client proved to hold the key of, whoever issued it. Get it once per connection
   * (`getPeerX509Certificate()`): its fingerprint is then computed once.
   */
  readonly clientCertificate?: X509Certificate | undefined;
}

export interface Authenticator {
  /**
   * The user these credentials belong to, or undefined when there are none of the kind that this authenticator looks at.
   * Throws `AuthenticationError` when there are, and they are not valid.
   */
  authenticate(credentials: Credentials): MaybePromise<UserInfo | undefined>;
}

/** One kind of bearer token: static, signed, … */
export interface TokenAuthenticator {
  /** The token's user, or undefined when the token is none of this kind. Throws `AuthenticationError` when it is, but not valid. */
  authenticateToken(token: string): MaybePromise<UserInfo | undefined>;
}

/** Answers that need no waiting come without a promise: authentication stands before every request. */
export type MaybePromise<Value> = Value | Promise<Value>;
