/** Explain: why a workload is where it is, and what would move if something were another way. Nothing here changes anything. */
export { applied } from "./edit-fleet.ts";
export {
  explainFollower,
  type FollowedCluster,
  type FollowerExplanation,
  followerKinds,
} from "./explain-follower.ts";
export {
  type ClusterExplanation,
  type Explanation,
  explainPlacement,
} from "./explain-placement.ts";
export { decideEach, type Fleet, type FleetWorkload, type Moment } from "./fleet.ts";
export {
  type Access,
  type PlacementQuestion,
  PlacementReviewer,
  type PlacementReviewerOptions,
} from "./placement-reviewer.ts";
export {
  cordoned,
  drained,
  type FleetChange,
  type FleetPlan,
  joined,
  type PlannedMove,
  planChange,
  planning,
  withTarget,
} from "./plan-change.ts";
export { type ReadFleetOptions, readFleet } from "./read-fleet.ts";
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
