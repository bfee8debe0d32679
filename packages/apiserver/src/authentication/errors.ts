/**
 * The reasons why authentication rejects a request; every reason becomes the same 401. The message
 * is for the server's log and never for the client, and never contains the credential.
 *
 * - `absent`: no credentials, and anonymous requests are not allowed.
 * - `invalid-token`: no authenticator knows the token.
 * - `other-audience`: the token is valid for other audiences. A TokenReview says so: its sender has
 *   the token, which contains the audiences.
 * - `token-too-long`: the token is not checked at all.
 * - `invalid-certificate`: wrong issuer, wrong time, wrong usage, or an invalid signature.
 */
export type AuthenticationErrorCode =
  | "absent"
  | "invalid-token"
  | "other-audience"
  | "token-too-long"
  | "invalid-certificate";

export class AuthenticationError extends Error {
  override readonly name = "AuthenticationError";
  readonly code: AuthenticationErrorCode;

  constructor(code: AuthenticationErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export function isAuthenticationError(
  error: unknown,
  code?: AuthenticationErrorCode,
): error is AuthenticationError {
  return (
    error instanceof Error &&
    error.name === "AuthenticationError" &&
    (code === undefined || (error as AuthenticationError).code === code)
  );
}

/** An invalid configuration of authentication by the operator: the start, or the reload, fails. */
export class AuthenticationConfigurationError extends Error {
  override readonly name = "AuthenticationConfigurationError";
}
