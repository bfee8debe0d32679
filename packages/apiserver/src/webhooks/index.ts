/** Calls to hosts that tenants name: one HTTPS client for conversion and admission, one for what is served elsewhere. */
export { type DocumentOptions, tenantDocuments } from "./fetch-document.ts";
export {
  type ForwarderOptions,
  forwardedPerClusterMax,
  RequestForwarder,
  sessionsPerClusterMax,
} from "./forward-request.ts";
export { parseMountHosts } from "./mount-hosts.ts";
export { isPrivateAddress } from "./private-addresses.ts";
export { addressOfEndpoints, addressOfService, type ServiceAddress } from "./service-endpoint.ts";
export {
  type ServiceObjects,
  type ServiceReference,
  type ServiceResolver,
  type WebhookCall,
  WebhookClient,
  type WebhookClientOptions,
} from "./webhook-client.ts";
