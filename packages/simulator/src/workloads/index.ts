export type { WorkloadContext } from "./context.ts";
export { covers } from "./disruption-budget.ts";
export { createStorageClasses } from "./provisioner.ts";
export { rollingLimitsOf } from "./rollout.ts";
export { installSnapshots } from "./snapshot-kinds.ts";
export { cloudControllers, workloadControllers } from "./workload-controllers.ts";
