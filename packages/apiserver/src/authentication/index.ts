export type {
  Authenticator,
  Credentials,
  TokenAuthenticator,
  TokenIdentity,
} from "./authenticator.ts";
export { BearerTokenAuthenticator, parseBearerToken, tokenLengthMax } from "./bearer-token.ts";
export { ReloadableClientCa } from "./client-ca.ts";
export { ClientCertificateAuthenticator, clusterOrganizationalUnit } from "./client-certificate.ts";
export { type ClusterIssuers, ClusterTokens, configurationsMax } from "./cluster-tokens.ts";
export {
  AuthenticationConfigurationError,
  AuthenticationError,
  isAuthenticationError,
} from "./errors.ts";
export { reviewSelf, reviewToken } from "./identity-reviews.ts";
export {
  type ImpersonationRequest,
  impersonationPrefix,
  impersonationRequests,
  impersonationRequestsMax,
} from "./impersonation-headers.ts";
export { signatureAlgorithms } from "./jwt/algorithms.ts";
export { type Claims, parseJsonWebToken, signJsonWebToken } from "./jwt/json-web-token.ts";
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
export { groupsMax } from "./oidc/claim-mapping.ts";
export { IssuerAuthenticator, notBeforeSkewMs } from "./oidc/issuer-authenticator.ts";
export { type FetchDocument, fetchIntervalMinMs, keysAgeMaxMs } from "./oidc/issuer-keys.ts";
export { issuerOfFlags, type JwtIssuer, type OidcFlags } from "./oidc/jwt-issuer.ts";
export { ReloadableTokenAuthenticator } from "./reloadable-token-authenticator.ts";
export { RequestAuthenticator } from "./request-authenticator.ts";
export { RequestHeaderAuthenticator } from "./request-headers.ts";
export { IssuerDocuments } from "./service-accounts/issuer-documents.ts";
export { serviceAccountCluster } from "./service-accounts/service-account-cluster.ts";
export type {
  AccountObject,
  ServiceAccountTokenGetter,
} from "./service-accounts/service-account-token-getter.ts";
export {
  accountCacheMs,
  clockSkewMs,
  deletionGraceMs,
  ServiceAccountAuthenticator,
} from "./service-accounts/token-authenticator.ts";
export type { AccountReference } from "./service-accounts/token-claims.ts";
export { ServiceAccountTokenIssuer } from "./service-accounts/token-issuer.ts";
export {
  adminTokens,
  hashToken,
  type StaticToken,
  StaticTokenAuthenticator,
} from "./static-tokens.ts";
export { parseTokenFile } from "./token-file.ts";
export { webSocketAuthorizationOf } from "./web-socket-token.ts";
