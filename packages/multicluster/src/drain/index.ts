/** Drain: evicting the objects of a cluster within a budget, and reporting the progress. */
export {
  DrainController,
  type DrainControllerOptions,
  drainPollMsDefault,
} from "./drain-controller.ts";
export { type DrainedObject, type DrainStep, drainStep } from "./drain-step.ts";
export { workloadBlock } from "./drained-objects.ts";
