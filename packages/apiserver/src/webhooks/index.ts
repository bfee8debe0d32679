/** Calls to hosts that tenants name: an HTTPS client for conversion and admission webhooks. */
export { tenantDocuments } from "./fetch-document.ts";
export { documentBytesMax, documentFetcher, fetchTimeoutMs } from "./operator-documents.ts";
export { deniedHostError, isPrivateAddress, restrictedLookup } from "./private-addresses.ts";
export { addressOfEndpoints, addressOfService, type ServiceAddress } from "./service-endpoint.ts";
export {
  type ServiceObjects,
  type ServiceReference,
  type ServiceResolver,
  WebhookClient,
  type WebhookClientOptions,
} from "./webhook-client.ts";
