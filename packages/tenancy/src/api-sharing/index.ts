/** Sharing APIs: exports, bindings, and what is served because of them. */
export { ApiSharing, type ApiSharingOptions } from "./api-sharing.ts";
export { clusterCachedResources } from "./cached-resources/kinds.ts";
export { apiBindings, apiExports } from "./kinds/definitions.ts";
export type { ExportConsumers, ExportReference } from "./services/export-consumers.ts";
export {
  type FilteredObject,
  filteredDefinition,
  type ResourceFilter,
} from "./services/shown-part.ts";
export {
  type SyncerScope,
  type VirtualWorkspaceScope,
  virtualWorkspaceOf,
} from "./services/virtual-workspace-scope.ts";
export {
  type SyncerVirtualWorkspaces,
  type VirtualWorkspaceAccess,
  VirtualWorkspaces,
} from "./services/virtual-workspaces.ts";
