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
  clusterOrganizationalUnit,
  verifiedCertificateCacheMax,
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
  type ImpersonationRequest,
  impersonationPrefix,
  impersonationRequests,
  impersonationRequestsMax,
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
  cachedTokensMax,
  IssuerAuthenticator,
  type IssuerAuthenticatorOptions,
  notBeforeSkewMs,
} from "./oidc/issuer-authenticator.ts";
export {
  type FetchDocument,
  fetchIntervalMinMs,
  IssuerKeys,
  keysAgeMaxMs,
} from "./oidc/issuer-keys.ts";
export { issuerOfFlags, type JwtIssuer, type OidcFlags } from "./oidc/jwt-issuer.ts";
export { ReloadableTokenAuthenticator } from "./reloadable-token-authenticator.ts";
export { RequestAuthenticator, type RequestAuthenticatorOptions } from "./request-authenticator.ts";
export {
  RequestHeaderAuthenticator,
  type RequestHeaderNames,
} from "./request-headers.ts";
export {
  IssuerDocuments,
  type IssuerDocumentsOptions,
} from "./service-accounts/issuer-documents.ts";
export { serviceAccountCluster } from "./service-accounts/service-account-cluster.ts";
export type {
  AccountObject,
  AccountObjectGetter,
  ServiceAccountTokenGetter,
} from "./service-accounts/service-account-token-getter.ts";
export {
  accountCacheMs,
  clockSkewMs,
  deletionGraceMs,
  ServiceAccountAuthenticator,
  type ServiceAccountAuthenticatorOptions,
  verifiedTokenCacheMax,
} from "./service-accounts/token-authenticator.ts";
export type { AccountReference } from "./service-accounts/token-claims.ts";
export {
  type IssuedToken,
  ServiceAccountTokenIssuer,
  type TokenIssuerOptions,
  type TokenParameters,
} from "./service-accounts/token-issuer.ts";
export {
  adminTokens,
  hashToken,
  type StaticToken,
  StaticTokenAuthenticator,
} from "./static-tokens.ts";
export { parseTokenFile } from "./token-file.ts";
