/** Calls to hosts that tenants name: one HTTPS client for conversion and admission, one for what is served elsewhere. */
export { type DocumentOptions, tenantDocuments } from "./fetch-document.ts";
export {
  type ForwarderOptions,
  forwardedPerClusterMax,
  RequestForwarder,
  sessionsPerClusterMax,
} from "./forward-request.ts";
export { isPrivateAddress } from "./private-addresses.ts";
export {
  type ServiceResolver,
  type WebhookCall,
  WebhookClient,
  type WebhookClientOptions,
} from "./webhook-client.ts";
