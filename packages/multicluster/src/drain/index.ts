/** Drain: emptying a cluster on a budget, and telling how far it is. */
export {
  DrainController,
  type DrainControllerOptions,
  drainPollMsDefault,
} from "./drain-controller.ts";
export { type DrainStep, drainStep, type Occupant } from "./drain-step.ts";
export { wholeBlock } from "./occupants.ts";
