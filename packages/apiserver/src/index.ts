export type { SystemKind } from "@kcp-ts/machinery/schema";
export type { ComposeAuthorization } from "./access-control.ts";
export {
  Admission,
  type AdmissionPlugin,
  type AdmissionRequest,
  denied,
  type MutableObject,
  type Operation,
  type PluginSources,
} from "./admission/index.ts";
export {
  type AuditBackend,
  type AuditPolicy,
  AuditPolicyError,
  LogBackend,
  parseAuditPolicy,
  WebhookBackend,
} from "./audit/index.ts";
export {
  type AccountReference,
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  AuthenticationConfigurationError,
  type Authenticator,
  adminTokens,
  BearerTokenAuthenticator,
  ClientCertificateAuthenticator,
  clusterOrganizationalUnit,
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
  ReloadableTokenAuthenticator,
  RequestAuthenticator,
  RequestHeaderAuthenticator,
  ServiceAccountAuthenticator,
  type ServiceAccountTokenGetter,
  ServiceAccountTokenIssuer,
  type SigningKey,
  type StaticToken,
  StaticTokenAuthenticator,
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
  bootstrapAuthorizer,
  type Decision,
  privilegedGroups,
  publicPaths,
  RbacAuthorizer,
  type ReviewVersion,
  reviewVersions,
  unionAuthorizer,
  WebhookAuthorizer,
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
export type {
  ClusterDirectory,
  CountedKind,
  UnresolvedTarget,
  UnresolvedTargetRequest,
} from "./cluster-directory.ts";
export { parseYamlDocuments, toYaml } from "./content/index.ts";
export { systemDefinition } from "./custom-resources/index.ts";
export type { KeyService } from "./encryption/index.ts";
export { encryptStorage } from "./encryption-wiring.ts";
export {
  plainExtension,
  type ServedExtension,
  type ServerCore,
  type ServerExtension,
  type ServerHost,
} from "./extension.ts";
export type { AdditionalSubresource, Reviewers, ReviewRequest } from "./handlers/index.ts";
export {
  Listener,
  type ListenerLimits,
  type ListenerOptions,
  listenerLimits,
  type NamedTlsMaterial,
  type TlsMaterial,
  type TlsVersion,
} from "./http/index.ts";
export { createLog, type LogFormat, type LogOptions } from "./log.ts";
export { ProcessMetrics } from "./metrics/index.ts";
export { pipeline } from "./pipeline.ts";
export {
  type Catalog,
  type ComputedListRequest,
  type ComputedResource,
  type ConnectRequest,
  type Draft,
  podMetricsKind,
  type ResourceDefinition,
  type SimpleColumn,
  type SimpleResource,
  type Strategy,
  type SubresourceStrategy,
  simpleResource,
  type VirtualResource,
} from "./registry/index.ts";
export {
  claimPrimary,
  type FollowedStore,
  type LostPrimary,
  type Primary,
  replicationPath,
  storeHeader,
} from "./replication/index.ts";
export {
  type ApiRequest,
  type ApiResponse,
  type HeaderRecord,
  requestedUpgrade,
} from "./request/api-request.ts";
export type { Attributes } from "./request/attributes.ts";
export type { ResourceScope } from "./request/request-scope.ts";
export type { UserInfo } from "./request/user.ts";
export type { RequestLimitOptions } from "./request-limits.ts";
export { kubernetesVersion } from "./routing/index.ts";
export { ApiServer, type ApiServerOptions } from "./server.ts";
export type { ServerLog } from "./server-log.ts";
export type { ServiceDecision, ServiceViews } from "./service-views.ts";
export type { AuditWiringOptions, BackendObserver } from "./stages/index.ts";
export { runStandby, type StandbyOptions, supersededServer } from "./standby-wiring.ts";
export {
  type ConsoleConfiguration,
  type ConsoleOptions,
  consoleOfServer,
  consoleSite,
} from "./static-site/index.ts";
export { ensureStoreFormat } from "./store-upkeep/index.ts";
export { decodeObject } from "./stored-object/index.ts";
export { tracerOf } from "./tracing-wiring.ts";
export {
  cacheBytesOf,
  listenerLimitsOf,
  type ServerLimits,
  type TrafficLimits,
  trafficDefaults,
  trafficOf,
} from "./traffic-limits.ts";
export {
  isPrivateAddress,
  type ServiceAddress,
  type ServiceObjects,
  type ServiceReference,
  type ServiceResolver,
  type WebhookClientOptions,
} from "./webhooks/index.ts";
