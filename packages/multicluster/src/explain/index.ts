/**
 * Explain: why a workload is in its clusters, and what a hypothetical change would move. Nothing in
 * this folder writes.
 */
export { applyToSnapshot } from "./apply-to-snapshot.ts";
export {
  type DependencyCluster,
  type DependencyExplanation,
  dependencyKinds,
  explainDependency,
} from "./explain-dependency.ts";
export {
  type ClusterExplanation,
  type Explanation,
  explainPlacement,
} from "./explain-placement.ts";
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
export { type ReadSnapshotOptions, readSnapshot } from "./read-snapshot.ts";
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
export {
  decideEach,
  type EvaluationTime,
  type SnapshotWorkload,
  type WorkspaceSnapshot,
} from "./workspace-snapshot.ts";
