/** A program of controllers in one call. For Node. */
export { type LeaderElectionSettings, type RunProgramOptions, run } from "./run.ts";
