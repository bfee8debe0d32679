/** Scheduling: policy by Locations and Placements, and for every workload and cluster whether it may be there, how much of it, and why. */

export type { ExistingWorkload } from "./affinity.ts";
export { formatResourceAmounts, parseResourceAmounts, type ResourceAmounts } from "./amounts.ts";
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
} from "./assess.ts";
export { type ClusterCandidate, clusterCandidateOf } from "./candidate.ts";
export {
  type ObservedCopy,
  ReservationCache,
  type ReservationCacheOptions,
  type WorkloadKey,
} from "./ledger.ts";
export {
  type LocationInstance,
  type LocationInWorkspace,
  type LocationLimits,
  type LocationMatcher,
  locationLimitsOf,
  locationMatcher,
} from "./located.ts";
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
export { formatReservation, readReservation } from "./reservation.ts";
export {
  ReservedResourcesController,
  type ReservedResourcesControllerOptions,
} from "./reserved-controller.ts";
export { noUsage, type Usage } from "./room.ts";
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
  formatInFlight,
  type InFlightByCluster,
  type InFlightReplicas,
  inFlightAnnotation,
  inFlightReplicas,
  readInFlight,
} from "./under-way.ts";
export {
  requestsOf,
  reservationOf,
  type SchedulableWorkload,
  schedulableWorkloadOf,
  type WorkloadObject,
  type WorkloadShape,
} from "./workload.ts";
export { WorkspaceController, type WorkspaceControllerOptions } from "./workspace-controller.ts";
