/** API sharing: exports, bindings, and the resources that they serve. */
export { ApiSharing } from "./api-sharing.ts";
export { clusterCachedResources } from "./cached-resources/kinds.ts";
export { exportOfIdentity } from "./claimed-identities.ts";
export type { KnownShard } from "./dependencies.ts";
export { apiBindings, apiExports, apiResourceSchemas } from "./kinds/definitions.ts";
export { copiesPrefix } from "./schema-store.ts";
export type { ExportConsumers, ExportReference } from "./virtual-workspaces/export-consumers.ts";
export {
  type FilteredObject,
  filteredDefinition,
  type ResourceFilter,
} from "./virtual-workspaces/filtered-definition.ts";
export {
  type SyncerScope,
  syncerScopeOf,
  type VirtualWorkspaceScope,
  virtualWorkspaceOf,
} from "./virtual-workspaces/virtual-workspace-scope.ts";
export {
  type SyncerVirtualWorkspaces,
  type VirtualWorkspaceAccess,
  VirtualWorkspaces,
} from "./virtual-workspaces/virtual-workspaces.ts";
