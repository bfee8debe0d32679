/** Drain: evicting the objects of a cluster within a budget, and reporting the progress. */
export { DrainController } from "./drain-controller.ts";
export { type DrainedObject, drainStep } from "./drain-step.ts";
export { pendingReasonOf } from "./drained-objects.ts";
