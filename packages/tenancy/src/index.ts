/** The door of the package: workspaces and shared APIs as an extension of an API server. */
export { type LogicalClusterSource, workspaceContent } from "./access/index.ts";
export {
  type ExportConsumers,
  type ExportPlace,
  type SeenObject,
  type ShownPart,
  type SyncerScope,
  type SyncerViews,
  shownPart,
  type VirtualWorkspaceScope,
  virtualWorkspaceOf,
} from "./api-sharing/index.ts";
export { parseMountHosts } from "./mounts/index.ts";
export type { SyncerViewSources } from "./syncer-view-sources.ts";
export {
  TenancyExtension,
  type TenancyExtensionOptions,
  tenancy,
} from "./tenancy-extension.ts";
export type { NamespaceContent, NamespaceMember, RootContent } from "./workspaces/index.ts";
