/** Drain: emptying a cluster on a budget, and telling how far it is. */
export {
  DrainController,
  type DrainControllerOptions,
  drainPollMsDefault,
} from "./drain-controller.ts";
export { type DrainedObject, type DrainStep, drainStep } from "./drain-step.ts";
export { workloadBlock } from "./occupants.ts";
