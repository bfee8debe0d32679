/**
 * Compute workspaces: their negotiated APIs are exported, and tenants use their clusters without
 * access to them.
 */

export {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  type ComputeExport,
  computeExportInformer,
  computeExportName,
  computeExportOf,
  consumersPath,
  isComputeExport,
} from "./compute-export.ts";
export { ComputeExportController } from "./compute-export-controller.ts";
export { consentLabel } from "./consent-label.ts";
export { findSharedTarget } from "./find-shared-target.ts";
export { sharedTargetOf } from "./shared-target.ts";
export { SharedTargetIndex } from "./shared-target-index.ts";
export { TenantTargets } from "./tenant-targets.ts";
