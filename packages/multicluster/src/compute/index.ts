/** Compute workspaces: what was negotiated among their clusters is offered to others, who use the clusters without seeing them. */
export { sharedTargetOf } from "./as-shared.ts";
export {
  type APIBinding,
  type APIExport,
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
export { consentLabel } from "./consent-label.ts";
export { findSharedTarget } from "./find-shared-target.ts";
export {
  ComputeExportController,
  type ComputeExportControllerOptions,
  computeExportRecheckMs,
} from "./offer-controller.ts";
export { type PlannedComputeExport, planComputeExport } from "./plan-offer.ts";
export { SharedTargetIndex } from "./shared-places.ts";
export { TenantTargets } from "./tenant-targets.ts";
