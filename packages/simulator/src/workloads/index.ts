export type { WorkloadContext } from "./context.ts";
export { workloadControllers } from "./workload-controllers.ts";
