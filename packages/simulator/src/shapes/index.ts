/** The two generations of the workload kinds' shapes. */
export { type Generation, generations, inGeneration } from "./generations.ts";
