export {
  Admission,
  type AdmissionPlugin,
  type AdmissionRequest,
  type MutableObject,
} from "./admission/index.ts";
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
  type Authenticator,
  adminTokens,
  BearerTokenAuthenticator,
  ClientCertificateAuthenticator,
  hashToken,
  isAuthenticationError,
  parseTokenFile,
  ReloadableClientCa,
  RequestAuthenticator,
  type StaticToken,
  StaticTokenAuthenticator,
} from "./authentication/index.ts";
export { type Authorizer, anyOf, bootstrapAuthorizer } from "./authorization/index.ts";
export {
  BackupFormatError,
  type BackupSummary,
  backupPath,
  backupType,
  checkBackup,
  encodeBackup,
  readBackup,
} from "./backup/index.ts";
export { Listener, type ListenerOptions, listenerLimits, type TlsMaterial } from "./http/index.ts";
export { pipeline } from "./pipeline.ts";
export {
  type Draft,
  type ResourceDefinition,
  type SimpleColumn,
  type SimpleResource,
  type Strategy,
  simpleResource,
} from "./registry/index.ts";
export type { ApiRequest, ApiResponse, HeaderRecord } from "./request/api-request.ts";
export type { UserInfo } from "./request/user.ts";
export { kubernetesVersion } from "./routing/index.ts";
export { ApiServer, type ApiServerOptions, type ServerLog } from "./server.ts";
export type { TrafficOptions } from "./traffic.ts";
