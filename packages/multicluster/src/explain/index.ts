/**
 * Explain: why a workload is in its clusters, and what a hypothetical change would move. Nothing in
 * this folder writes.
 */
export { applyToSnapshot } from "./apply-to-snapshot.ts";
export type { DependencyExplanation } from "./explain-dependency.ts";
export { type Explanation, explainPlacement } from "./explain-placement.ts";
export { type AccessCheck, PlacementReviewer } from "./placement-reviewer.ts";
export {
  type PlacementPlan,
  planChange,
  type SnapshotChange,
  withCordonedTarget,
  withDrainedTarget,
  withJoinedTarget,
} from "./plan-change.ts";
export { readSnapshot } from "./read-snapshot.ts";
export {
  type PlacementReviewSpec,
  type PlacementReviewStatus,
  type PlannedChange,
  placementReviewKind,
  placementReviews,
  type ReviewedPlan,
} from "./review-spec.ts";
export { ruleBook } from "./rule-book.ts";
export { decideEach, type SnapshotWorkload, type WorkspaceSnapshot } from "./workspace-snapshot.ts";
