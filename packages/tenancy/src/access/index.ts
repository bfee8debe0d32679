/** Authorization of workspaces and shared APIs. */

export { canUseWorkspaceType } from "./can-use-workspace-type.ts";
export {
  canBindCachedResource,
  canBindExport,
  canReadAll,
  maximalPermissionPolicyAuthorizer,
  sharedAccess,
  sharedPolicies,
  virtualWorkspaceAccess,
} from "./export-authorization.ts";
export {
  accessDenied,
  type LogicalClusterSource,
  workspaceContentAuthorizer,
} from "./workspace-content-authorizer.ts";
