export {
  type CertificateRequest,
  type CertificateRequestsOptions,
  certificateRequestsController,
  type SignCertificate,
  type SigningOutcome,
} from "./certificate-requests/index.ts";
export type { ControlLoop } from "./control-loop.ts";
export { type ControlLoopsOptions, type ErrorContext, runControlLoops } from "./control-loops.ts";
export {
  type DefaultObject,
  type DefaultObjectsOptions,
  defaultObjectsController,
  defaultObjectsIn,
  ensureDefaultNamespace,
} from "./default-objects/index.ts";
export { type EventExpiryOptions, eventExpiry } from "./event-expiry/index.ts";
export {
  type CollectedResource,
  type DiscoveredResourcesOptions,
  discoveredResources,
  GarbageCollector,
  type GarbageCollectorOptions,
  type GraphNode,
  type ResourceSource,
} from "./garbage-collector/index.ts";
export { type NamespaceControllerOptions, namespaceController } from "./namespace/index.ts";
export {
  type ResourceQuotaController,
  type ResourceQuotaControllerOptions,
  resourceQuotaController,
} from "./resource-quota/index.ts";
export {
  type AccountOfToken,
  type IssueToken,
  type ServiceAccountTokensOptions,
  serviceAccountTokensController,
} from "./service-account-tokens/index.ts";
