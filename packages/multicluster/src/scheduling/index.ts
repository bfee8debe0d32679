/**
 * Scheduling: policy by Locations and Placements; for every workload and cluster the filter
 * results, the most replicas, and the reasons.
 */

export type { ExistingWorkload } from "./affinity.ts";
export { type ClusterCandidate, clusterCandidateOf } from "./candidate.ts";
export {
  type ClusterSchedulingResult,
  type CurrentReplicas,
  clusterWeightMax,
  filterAndScore,
  type ReplicaLimit,
  type SchedulingInput,
  type SchedulingResult,
  type ScoreFactor,
  type SharedReplicaLimit,
  type WorkloadPreferences,
} from "./filter-and-score.ts";
export {
  formatInFlight,
  type InFlightByCluster,
  type InFlightReplicas,
  inFlightAnnotation,
  inFlightReplicas,
  readInFlight,
} from "./in-flight.ts";
export {
  type LocationUpdate,
  type NamespaceUpdate,
  type PlacementUpdate,
  planWorkspace,
  type WorkspacePlan,
  type WorkspaceState,
} from "./plan-workspace.ts";
export {
  type Namespace,
  type NamespaceInfo,
  namespaces,
  Policies,
  type PolicyLister,
} from "./policies.ts";
export {
  type ApplicablePlacement,
  applicablePlacements,
  choosesLocation,
  defaultPolicy,
  isAboutNamespace,
  levelOf,
  type PlacementRules,
  type Policy,
  type PolicyLevel,
  type PolicySubject,
  policyOf,
  type SelectedLocation,
} from "./policy.ts";
export { noUsage, type Usage } from "./replica-estimator.ts";
export { formatReservation, readReservation } from "./reservation.ts";
export {
  type ObservedCopy,
  ReservationCache,
  type ReservationCacheOptions,
  type WorkloadKey,
} from "./reservation-cache.ts";
export {
  ReservedResourcesController,
  type ReservedResourcesControllerOptions,
} from "./reserved-resources-controller.ts";
export {
  formatResourceAmounts,
  parseResourceAmounts,
  type ResourceAmounts,
} from "./resource-amounts.ts";
export {
  observedCopyOf,
  Scheduler,
  type SchedulerOptions,
  type SchedulingNotification,
  type SchedulingSnapshot,
  type SchedulingSubject,
  snapshotFrom,
} from "./scheduler.ts";
export { selectorOf } from "./selectors.ts";
export {
  requestsOf,
  reservationOf,
  type SchedulableWorkload,
  schedulableWorkloadOf,
  type WorkloadObject,
  type WorkloadShape,
} from "./workload.ts";
export { WorkspaceController, type WorkspaceControllerOptions } from "./workspace-controller.ts";
export {
  type LocationInstance,
  type LocationInWorkspace,
  type LocationLimits,
  type LocationMatcher,
  locationLimitsOf,
  locationMatcher,
} from "./workspace-locations.ts";
