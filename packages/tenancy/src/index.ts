/** The entry point of the package: workspaces and shared APIs as an extension of an API server. */
export { type LogicalClusterSource, workspaceContentAuthorizer } from "./access/index.ts";
export {
  type ExportConsumers,
  type ExportReference,
  type FilteredObject,
  filteredDefinition,
  type ResourceFilter,
  type SyncerScope,
  type SyncerVirtualWorkspaces,
  syncerScopeOf,
  type VirtualWorkspaceScope,
  virtualWorkspaceOf,
} from "./api-sharing/index.ts";
export { parseMountHosts } from "./mounts/index.ts";
export {
  forwardedRequestsMetric,
  isShardName,
  type ShardConnections,
  type ShardOptions,
  type ShardRoutes,
  TlsShardNetwork,
} from "./shards/index.ts";
export type { SyncerVirtualWorkspaceInputs } from "./syncer-virtual-workspace-inputs.ts";
export {
  TenancyExtension,
  type TenancyExtensionOptions,
  tenancy,
} from "./tenancy-extension.ts";
export type {
  NamespaceDefaultObject,
  NamespaceDefaults,
  RootBootstrapOptions,
} from "./workspaces/index.ts";
