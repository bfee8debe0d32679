/** What authorization says about workspaces and shared APIs. */
export {
  canBindCachedResource,
  canBindExport,
  canReadAll,
  maximalPermissionPolicyAuthorizer,
  virtualWorkspaceAccess,
} from "./export-access.ts";
export { canUseWorkspaceType } from "./type-use.ts";
export {
  accessDenied,
  type LogicalClusterSource,
  workspaceContentAuthorizer,
} from "./workspace-content.ts";
