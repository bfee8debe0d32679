/**
 * Coordination: a workload becomes one per-cluster object for each cluster, and the statuses of
 * these objects are aggregated into the status of the workload.
 */

export {
  clusterCopyName,
  desiredReplicasAnnotation,
  isCopyOf,
  isInternalKey,
  isUnassigned,
  managedAnnotation,
  newClusterCopy,
  ownerLabelOf,
  ownerLabelValue,
  ownerReference,
  shortenName,
  withoutInternalKeys,
} from "./cluster-copy.ts";
export {
  type ClusterInfo,
  clusterInfoOf,
  earliest,
  evaluateCluster,
  type GracePeriods,
} from "./cluster-state.ts";
export {
  type Coordinators,
  type CoordinatorsOptions,
  deploymentCoordinator,
  recoveryMsDefault,
  strategiesDefault,
  unreachableAfterMsDefault,
  workloadCoordinators,
} from "./coordinators.ts";
export {
  type DecideInput,
  type Decision,
  decide,
  type EvaluatedCluster,
  schedulableOf,
} from "./decide.ts";
export { targetsOf } from "./dependencies/dependency-closure.ts";
export { isPropagated, withPropagatedTargets } from "./dependencies/propagated-targets.ts";
export { podReferences } from "./dependencies/references.ts";
export { deploymentStrategy } from "./deployment-strategy.ts";
export { type ClusterWeightInfo, distribute, weightMax } from "./distribute.ts";
export { finalAssignment } from "./final-assignment.ts";
export { customStrategy } from "./kinds/custom.ts";
export {
  type ClaimTemplate,
  claimPhaseIn,
  claimTemplatesOf,
  ordinalClaimName,
  requestedOrdinals,
  syncsClaims,
} from "./ordinal-volumes.ts";
export { overridesAnnotation } from "./overrides.ts";
export { capacityAnnotation, selectorAnnotation, weightsAnnotation } from "./placement.ts";
export {
  type PlacementRecord,
  placementHistoryAnnotation,
  readPlacementHistory,
} from "./placement-history.ts";
export { podTemplateOf } from "./pod-template.ts";
export type { CopyRollout } from "./rollout/plan-rollout.ts";
export { unschedulableReason } from "./scheduled-condition.ts";
export { scheduledCondition } from "./status-aggregation.ts";
export type { CopyShare, ReplicaScheduling, Strategy } from "./strategy.ts";
export {
  metadataAndTargets,
  metadataClusters,
  type WatchedClustersOptions,
} from "./watched-clusters.ts";
export type { Workload } from "./workload.ts";
