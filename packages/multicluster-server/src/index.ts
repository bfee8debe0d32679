/** The half of multi-cluster that lives inside the server. */
export { apiAccessAdmission } from "./api-access-admission.ts";
export { copiesAdmission } from "./copies-admission.ts";
export { GivenNamespaces } from "./given-namespaces.ts";
export { type PeerAddress, Peers } from "./peers.ts";
export {
  agentImageDefault,
  type PhysicalClusterOptions,
  type PhysicalClusterProgram,
  PhysicalClusters,
  type PhysicalClustersParts,
  runPhysicalClusters,
  type TunnelServers,
} from "./physical-clusters.ts";
export { placementReviewAuthorizer } from "./placement-reviews.ts";
export { podEndpoints } from "./pod-endpoints.ts";
export { SharedTargets } from "./shared-targets.ts";
export { syncerViews } from "./syncer-views.ts";
