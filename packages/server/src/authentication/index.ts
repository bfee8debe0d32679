export type {
  Authenticator,
  Credentials,
  MaybePromise,
  TokenAuthenticator,
  TokenIdentity,
} from "./authenticator.ts";
export { BearerTokenAuthenticator, parseBearerToken, tokenLengthMax } from "./bearer-token.ts";
export { ReloadableClientCa } from "./client-ca.ts";
export {
  ClientCertificateAuthenticator,
  type ClientCertificateOptions,
  verifiedCertificatesMax,
} from "./client-certificate.ts";
export {
  AuthenticationConfigurationError,
  AuthenticationError,
  type AuthenticationErrorCode,
  isAuthenticationError,
} from "./errors.ts";
export { reviewSelf, reviewToken } from "./identity-reviews.ts";
export { RequestAuthenticator, type RequestAuthenticatorOptions } from "./request-authenticator.ts";
export {
  adminTokens,
  hashToken,
  type StaticToken,
  StaticTokenAuthenticator,
} from "./static-tokens.ts";
export { parseTokenFile } from "./token-file.ts";
