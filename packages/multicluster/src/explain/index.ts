/** Explain: why a workload is where it is, and what would move if something were another way. Nothing here changes anything. */
export { applied } from "./edit-fleet.ts";
export {
  type ClusterExplanation,
  type Explanation,
  explainPlacement,
} from "./explain-placement.ts";
export { decideEach, type Fleet, type FleetWorkload, type Moment } from "./fleet.ts";
export {
  cordoned,
  drained,
  type FleetChange,
  type FleetPlan,
  joined,
  type PlannedMove,
  planChange,
  withTarget,
} from "./plan-change.ts";
export { type ReadFleetOptions, readFleet } from "./read-fleet.ts";
