/** Coordination: one object becomes a part for each cluster, and the parts' statuses become its own. */
export { type DecideInput, type Decision, decide } from "./decide.ts";
export {
  type DeploymentSplitter,
  type DeploymentSplitterOptions,
  deploymentSplitter,
  graceMsDefault,
  settleMsDefault,
  type Tenants,
} from "./deployment-splitter.ts";
export { distribute, type Share, weightMax } from "./distribute.ts";
export { placedCondition } from "./fold-status.ts";
export { askedReplicasAnnotation, handsOffAnnotation, lostSinceAnnotation } from "./part.ts";
export { capacityAnnotation, selectorAnnotation, weightsAnnotation } from "./placement.ts";
export type { Patience } from "./standing.ts";
