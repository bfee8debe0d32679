/**
 * Scheduling: policy by Locations and Placements; for every workload and cluster the filter
 * results, the most replicas, and the reasons.
 */

export type { ExistingWorkload } from "./affinity.ts";
export { type ClusterCandidate, clusterCandidateOf } from "./candidate.ts";
export {
  type ClusterSchedulingResult,
  type CurrentReplicas,
  filterAndScore,
  type ReplicaLimit,
  type SchedulingResult,
  type SharedReplicaLimit,
} from "./filter-and-score.ts";
export {
  type InFlightByCluster,
  type InFlightReplicas,
  inFlightReplicas,
} from "./in-flight.ts";
export { observePlacement, placedWorkloadOf, workloadKindKey } from "./placed-workload.ts";
export { planWorkspace } from "./plan-workspace.ts";
export { namespaces, Policies } from "./policies.ts";
export type { Policy } from "./policy.ts";
export { maxAvailableReplicas, type Usage } from "./replica-estimator.ts";
export { ReservationCache } from "./reservation-cache.ts";
export { ReservedResourcesController } from "./reserved-resources-controller.ts";
export {
  addTo,
  formatResourceAmounts,
  multipliedBy,
  noResources,
  parseResourceAmounts,
  type ResourceAmounts,
} from "./resource-amounts.ts";
export {
  capacityRule,
  evictionRules,
  filterRules,
  globalConstraints,
  hasEffect,
  messagesOf,
  type RuleDescription,
  type RuleRecord,
  scoreRules,
  weightRule,
} from "./rules.ts";
export {
  Scheduler,
  type SchedulingNotification,
  type SchedulingSnapshot,
  type SchedulingSubject,
  snapshotFrom,
} from "./scheduler.ts";
export { reservationOf, type SchedulableWorkload, schedulableWorkloadOf } from "./workload.ts";
export { WorkspaceController, type WorkspaceControllerOptions } from "./workspace-controller.ts";
export { type LocationLimits, locationMatcher } from "./workspace-locations.ts";
