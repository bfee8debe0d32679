export type { WorkloadContext } from "./context.ts";
export { covers } from "./disruption-budget.ts";
export { boundsOf } from "./rollout.ts";
export { workloadControllers } from "./workload-controllers.ts";
