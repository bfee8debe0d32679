/** Compute workspaces: what was negotiated among their clusters is offered to others, who use the clusters without seeing them. */
export { asShared } from "./as-shared.ts";
export {
  type APIBinding,
  type APIExport,
  apiBindings,
  apiExports,
  apiResourceSchemas,
  computeExportName,
  consumersPath,
  isComputeExport,
  type Offer,
  offerInformer,
  offerOf,
} from "./compute-export.ts";
export { consentLabel } from "./consent-label.ts";
export { findSharedTarget } from "./find-shared-target.ts";
export {
  OfferController,
  type OfferControllerOptions,
  offerRecheckMs,
} from "./offer-controller.ts";
export { type PlannedOffer, planOffer } from "./plan-offer.ts";
export { SharedPlaces } from "./shared-places.ts";
export { TenantTargets } from "./tenant-targets.ts";
