/** The kinds that the controllers read and write, with the fields that they use. */
export { apiResourceSchemas } from "./api-resource-schemas.ts";
export {
  type CertificateSigningRequest,
  certificateSigningRequests,
} from "./certificate-signing-requests.ts";
export { type ConfigMap, configMaps } from "./config-maps.ts";
export { customResourceDefinitions } from "./custom-resource-definitions.ts";
export { metadataClient } from "./metadata-client.ts";
export { type Namespace, namespaces } from "./namespaces.ts";
export { type ResourceQuota, resourceQuotas } from "./resource-quotas.ts";
export { type Secret, secrets } from "./secrets.ts";
export { type ServesKind, servedKinds } from "./served-kinds.ts";
export { serviceAccounts } from "./service-accounts.ts";
