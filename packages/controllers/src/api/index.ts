/** The kinds that the controllers read and write. */
export {
  apiResourceSchemas,
  type CertificateSigningRequest,
  type ConfigMap,
  type CustomResourceDefinition,
  certificateSigningRequests,
  configMaps,
  customResourceDefinitions,
  type Secret,
  secrets,
  serviceAccounts,
} from "@kcp-ts/sdk/kinds";
export { metadataClient } from "./metadata-client.ts";
export { type Namespace, namespaces } from "./namespaces.ts";
export { type ResourceQuota, resourceQuotas } from "./resource-quotas.ts";
export { type ServesKind, servedKinds } from "./served-kinds.ts";
