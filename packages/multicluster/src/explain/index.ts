/** Explain: why a workload is where it is, and what would move if something were another way. Nothing here changes anything. */
export { applyToSnapshot } from "./edit-fleet.ts";
export {
  type DependencyCluster,
  type DependencyExplanation,
  dependencyKinds,
  explainDependency,
} from "./explain-follower.ts";
export {
  type ClusterExplanation,
  type Explanation,
  explainPlacement,
} from "./explain-placement.ts";
export {
  decideEach,
  type EvaluationTime,
  type SnapshotWorkload,
  type WorkspaceSnapshot,
} from "./fleet.ts";
export {
  type AccessCheck,
  PlacementReviewer,
  type PlacementReviewerOptions,
  type PlacementReviewRequest,
} from "./placement-reviewer.ts";
export {
  type PlacementPlan,
  type PlannedMove,
  planChange,
  planChangeInSteps,
  type SnapshotChange,
  withCordonedTarget,
  withDrainedTarget,
  withJoinedTarget,
  withTarget,
} from "./plan-change.ts";
export { type ReadSnapshotOptions, readSnapshot } from "./read-fleet.ts";
export {
  type ExplainedObject,
  type PlacementReview,
  type PlacementReviewSpec,
  type PlacementReviewStatus,
  type PlannedChange,
  placementReviewKind,
  placementReviews,
  type ReviewedPlan,
} from "./review-spec.ts";
