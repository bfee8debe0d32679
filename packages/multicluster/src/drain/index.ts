/** Drain: evicting the objects of a cluster within a budget, and reporting the progress. */
export { DrainController } from "./drain-controller.ts";
