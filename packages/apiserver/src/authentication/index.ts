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
  clusterUnit,
  verifiedCertificatesMax,
} from "./client-certificate.ts";
export {
  type ClusterIssuers,
  ClusterTokens,
  type ClusterTokensOptions,
  configurationsMax,
} from "./cluster-tokens.ts";
export {
  AuthenticationConfigurationError,
  AuthenticationError,
  type AuthenticationErrorCode,
  isAuthenticationError,
} from "./errors.ts";
export { reviewSelf, reviewToken } from "./identity-reviews.ts";
export {
  hasImpersonation,
  type ImpersonationWish,
  impersonationWishes,
  impersonationWishesMax,
} from "./impersonation-headers.ts";
export {
  rsaBitsMax,
  rsaBitsMin,
  signatureAlgorithms,
} from "./jwt/algorithms.ts";
export {
  type Claims,
  isSignedBy,
  type JsonWebToken,
  parseJsonWebToken,
  signJsonWebToken,
} from "./jwt/json-web-token.ts";
export {
  parseKeySet,
  parseSigningKey,
  parseVerificationKeys,
  type SigningKey,
  signingKey,
  toJsonWebKey,
  type VerificationKey,
  verificationKeyOf,
  verificationKeysMax,
} from "./jwt/keys.ts";
export {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  issuersMax,
  parseAuthenticationConfiguration,
} from "./oidc/authentication-configuration.ts";
export { type ClaimMapping, compileMapping, groupsMax } from "./oidc/claim-mapping.ts";
export {
  IssuerAuthenticator,
  type IssuerAuthenticatorOptions,
  notBeforeSkewMs,
  rememberedTokensMax,
} from "./oidc/issuer-authenticator.ts";
export {
  type FetchDocument,
  fetchIntervalMinMs,
  IssuerKeys,
  keysAgeMaxMs,
} from "./oidc/issuer-keys.ts";
export { issuerOfFlags, type JwtIssuer, type OidcFlags } from "./oidc/jwt-issuer.ts";
export { RequestAuthenticator, type RequestAuthenticatorOptions } from "./request-authenticator.ts";
export {
  RequestHeaderAuthenticator,
  type RequestHeaderNames,
} from "./request-headers.ts";
export type {
  AccountObject,
  AccountObjects,
  AccountPlace,
} from "./service-accounts/account-objects.ts";
export { homeOfAccount } from "./service-accounts/home-of-account.ts";
export {
  IssuerDocuments,
  type IssuerDocumentsOptions,
} from "./service-accounts/issuer-documents.ts";
export {
  accountTrustMs,
  clockSkewMs,
  deletionGraceMs,
  ServiceAccountAuthenticator,
  type ServiceAccountAuthenticatorOptions,
  verifiedTokensMax,
} from "./service-accounts/token-authenticator.ts";
export type { AccountReference } from "./service-accounts/token-claims.ts";
export {
  type IssuedToken,
  ServiceAccountTokenIssuer,
  type TokenIssuerOptions,
  type TokenWish,
} from "./service-accounts/token-issuer.ts";
export {
  adminTokens,
  hashToken,
  type StaticToken,
  StaticTokenAuthenticator,
} from "./static-tokens.ts";
export { SwitchedTokens } from "./switched-tokens.ts";
export { parseTokenFile } from "./token-file.ts";
