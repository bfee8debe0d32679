/**
 * Coordination: a workload becomes one per-cluster object for each cluster, and the statuses of
 * these objects are aggregated into the status of the workload.
 */

export {
  clusterCopyName,
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
  deploymentCoordinator,
  strategiesDefault,
  unreachableAfterMsDefault,
  workloadCoordinators,
} from "./coordinators.ts";
export { type Decision, decide, type EvaluatedCluster, schedulableOf } from "./decide.ts";
export { targetsOf } from "./dependencies/dependency-closure.ts";
export { isPropagated, withPropagatedTargets } from "./dependencies/propagated-targets.ts";
export { podReferences } from "./dependencies/references.ts";
export { deploymentStrategy } from "./deployment-strategy.ts";
export { customStrategy } from "./kinds/custom.ts";
export type { MetadataInformers } from "./metadata-informers.ts";
export {
  type ClaimTemplate,
  claimPhaseIn,
  claimTemplatesOf,
  ordinalClaimName,
  syncsClaims,
} from "./ordinal-volumes.ts";
export { capacityAnnotation, selectorAnnotation, weightsAnnotation } from "./placement.ts";
export { isSameDecision, type PlacementRecord, requestedOrdinals } from "./placement-record.ts";
export { podTemplateOf } from "./pod-template.ts";
export type { CopyRollout } from "./rollout/plan-rollout.ts";
export {
  clusterStateRule,
  groupedCounts,
  recordText,
  rejectionsOf,
  unschedulableReason,
} from "./rule-records.ts";
export { scheduledRules } from "./scheduled-condition.ts";
export {
  copyEverywhere,
  dividedReplicas,
  singleOverlapping,
  singleRunningOnce,
} from "./stepper/capabilities.ts";
export type { Strategy } from "./strategy.ts";
export {
  metadataAndTargets,
  metadataClusters,
  sharedMetadata,
  type WatchedClustersOptions,
} from "./watched-clusters.ts";
export type { Workload, WorkloadCondition } from "./workload.ts";
