/** Coordination: one object becomes a part for each cluster, and the parts' statuses become its own. */

export {
  type Coordinators,
  type CoordinatorsOptions,
  deploymentSplitter,
  graceMsDefault,
  settleMsDefault,
  strategiesDefault,
  workloadCoordinators,
} from "./coordinators.ts";
export { type DecideInput, type Decision, decide, type Place, schedulable } from "./decide.ts";
export { deploymentStrategy } from "./deployment-strategy.ts";
export { distribute, type Share, weightMax } from "./distribute.ts";
export { placedCondition } from "./fold-parts.ts";
export { presentIn } from "./follow/closure.ts";
export { following, isFollowing } from "./follow/following.ts";
export { podReferences } from "./follow/references.ts";
export { goalAtRest } from "./goal-at-rest.ts";
export { customStrategy } from "./kinds/custom.ts";
export {
  asksOf,
  type ClaimTemplate,
  claimPhaseIn,
  claimTemplatesOf,
  ordinalClaimName,
  syncsClaims,
} from "./ordinal-volumes.ts";
export { overridesAnnotation } from "./overrides.ts";
export {
  askedReplicasAnnotation,
  belongsTo,
  handsOffAnnotation,
  isMachinery,
  isWhole,
  newPart,
  ownerLabelOf,
  ownerLabelValue,
  ownerReference,
  partName,
  plain,
  shortened,
} from "./part.ts";
export { capacityAnnotation, selectorAnnotation, weightsAnnotation } from "./placement.ts";
export {
  type PlacementRecord,
  placementHistoryAnnotation,
  readPlacementHistory,
} from "./placement-history.ts";
export { podTemplateOf } from "./pod-template.ts";
export type { PartRoll } from "./rolling/roll-out.ts";
export { earliest, judge, type Patience, type Target, targetOf } from "./standing.ts";
export type { PartShare, Sharing, Strategy } from "./strategy.ts";
export { obstacle } from "./verdict.ts";
export {
  metadataAndTargets,
  metadataClusters,
  type WatchedClustersOptions,
} from "./watched-clusters.ts";
export type { Workload } from "./workload.ts";
