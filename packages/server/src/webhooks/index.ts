/** Calls to webhooks that tenants name: one HTTPS client for conversion and admission. */
export { isPrivateAddress } from "./private-addresses.ts";
export {
  type ServiceResolver,
  type WebhookCall,
  WebhookClient,
  type WebhookClientOptions,
} from "./webhook-client.ts";
