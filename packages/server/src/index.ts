export type { ComposeAuthorization } from "./access-control.ts";
export {
  Admission,
  type AdmissionPlugin,
  type AdmissionRequest,
  denied,
  type MutableObject,
  type Operation,
} from "./admission/index.ts";
export {
  type ExportConsumers,
  type ExportPlace,
  type SeenObject,
  type ServiceDecision,
  type ShownPart,
  type SyncerViews,
  shownPart,
} from "./api-sharing/index.ts";
export {
  type AuditBackend,
  type AuditPolicy,
  AuditPolicyError,
  LogBackend,
  parseAuditPolicy,
  WebhookBackend,
} from "./audit/index.ts";
export type { AuditTrailOptions, BackendObserver } from "./audit-trail.ts";
export {
  type AccountObjects,
  type AccountReference,
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  AuthenticationConfigurationError,
  type Authenticator,
  adminTokens,
  BearerTokenAuthenticator,
  ClientCertificateAuthenticator,
  clusterUnit,
  type FetchDocument,
  hashToken,
  IssuerAuthenticator,
  IssuerDocuments,
  isAuthenticationError,
  issuerOfFlags,
  type JwtIssuer,
  parseAuthenticationConfiguration,
  parseSigningKey,
  parseTokenFile,
  parseVerificationKeys,
  ReloadableClientCa,
  RequestAuthenticator,
  RequestHeaderAuthenticator,
  ServiceAccountAuthenticator,
  ServiceAccountTokenIssuer,
  type SigningKey,
  type StaticToken,
  StaticTokenAuthenticator,
  SwitchedTokens,
  signatureAlgorithms,
  type TokenAuthenticator,
  type TokenIdentity,
  type VerificationKey,
  verificationKeyOf,
} from "./authentication/index.ts";
export {
  AllowedPathsError,
  type Authorizer,
  allowedPaths,
  anyOf,
  bootstrapAuthorizer,
  type Decision,
  type LogicalClusterSource,
  privilegedGroups,
  publicPaths,
  RbacAuthorizer,
  type ReviewVersion,
  reviewVersions,
  WebhookAuthorizer,
  workspaceContent,
} from "./authorization/index.ts";
export {
  BackupFormatError,
  type BackupSummary,
  backupPath,
  backupType,
  checkBackup,
  encodeBackup,
  readBackup,
} from "./backup/index.ts";
export { parseYamlDocuments, toYaml } from "./content/index.ts";
export { type SystemKind, systemDefinition } from "./custom-resources/index.ts";
export type { FurtherSubresource, Reviewers, ReviewRequest } from "./handlers/index.ts";
export {
  Listener,
  type ListenerLimits,
  type ListenerOptions,
  listenerLimits,
  type NamedTlsMaterial,
  type TlsMaterial,
  type TlsVersion,
} from "./http/index.ts";
export { pipeline } from "./pipeline.ts";
export {
  type BesideResource,
  type Catalog,
  type ComputedObjects,
  type ComputedQuestion,
  type Draft,
  podMetricsKind,
  type ResourceDefinition,
  type SimpleColumn,
  type SimpleResource,
  type Strategy,
  type SubresourceCall,
  type SubresourceStrategy,
  simpleResource,
} from "./registry/index.ts";
export {
  type ApiRequest,
  type ApiResponse,
  type HeaderRecord,
  wantedUpgrade,
} from "./request/api-request.ts";
export type { Attributes } from "./request/attributes.ts";
export { inPieces } from "./request/other-work.ts";
export type { ResourceScope, SyncerScope } from "./request/request-scope.ts";
export type { UserInfo } from "./request/user.ts";
export { kubernetesVersion } from "./routing/index.ts";
export { ApiServer, type ApiServerOptions, type ServerLog } from "./server.ts";
export { decodeObject } from "./stored-object/index.ts";
export type { TrafficOptions } from "./traffic.ts";
export { unreadLimits } from "./watch-cache/index.ts";
export {
  isPrivateAddress,
  parseMountHosts,
  type ServiceAddress,
  type ServiceObjects,
  type ServiceReference,
  type ServiceResolver,
  type WebhookClientOptions,
} from "./webhooks/index.ts";
