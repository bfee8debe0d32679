/**
 * Why a request is not let in; all of it becomes the same 401. The message is for the server's log and never for the client,
 * and never contains the credential.
 *
 * - `absent`: no credentials, and anonymous requests are not allowed.
 * - `invalid-token`: no authenticator knows the token.
 * - `other-audience`: the token is good, and meant for others. A review says so: whoever asks has the token, which says it itself.
 * - `token-too-long`: not even looked at.
 * - `invalid-certificate`: wrong issuer, wrong time, wrong usage, or a signature that is not right.
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

/** Something that the operator gave us to authenticate with cannot be used: the start, or the reload, fails. */
export class AuthenticationConfigurationError extends Error {
  override readonly name = "AuthenticationConfigurationError";
}
