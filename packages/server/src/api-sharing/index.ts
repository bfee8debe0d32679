/** Sharing APIs: exports, bindings, and what is served because of them. */
export { ApiSharing, type ApiSharingOptions } from "./api-sharing.ts";
export { apiBindings, apiExports } from "./kinds/definitions.ts";
export {
  type ServiceAccess,
  type ServiceDecision,
  VirtualWorkspaces,
} from "./services/virtual-workspaces.ts";
