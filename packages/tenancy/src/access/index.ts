/** What authorization says about workspaces and shared APIs. */
export {
  bindingToCached,
  bindingToExport,
  maximalPermissions,
  readingAll,
  serviceAccess,
} from "./export-access.ts";
export { useOfType } from "./type-use.ts";
export { accessDenied, type LogicalClusterSource, workspaceContent } from "./workspace-content.ts";
