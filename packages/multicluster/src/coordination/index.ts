/** Coordination: one object becomes a part for each cluster, and the parts' statuses become its own. */

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
export { deploymentStrategy } from "./deployment-strategy.ts";
export { type ClusterWeightInfo, distribute, weightMax } from "./distribute.ts";
export { scheduledCondition } from "./fold-parts.ts";
export { targetsOf } from "./follow/closure.ts";
export { isPropagated, withPropagatedTargets } from "./follow/following.ts";
export { podReferences } from "./follow/references.ts";
export { finalAssignment } from "./goal-at-rest.ts";
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
} from "./part.ts";
export { capacityAnnotation, selectorAnnotation, weightsAnnotation } from "./placement.ts";
export {
  type PlacementRecord,
  placementHistoryAnnotation,
  readPlacementHistory,
} from "./placement-history.ts";
export { podTemplateOf } from "./pod-template.ts";
export type { CopyRollout } from "./rolling/roll-out.ts";
export {
  type ClusterInfo,
  clusterInfoOf,
  earliest,
  evaluateCluster,
  type GracePeriods,
} from "./standing.ts";
export type { CopyShare, ReplicaScheduling, Strategy } from "./strategy.ts";
export { unschedulableReason } from "./verdict.ts";
export {
  metadataAndTargets,
  metadataClusters,
  type WatchedClustersOptions,
} from "./watched-clusters.ts";
export type { Workload } from "./workload.ts";
