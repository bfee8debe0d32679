/** Supplies what fairness declares, from what is stored: flow schemas, levels, and how much a cluster holds. */
export { FlowControlConfigController } from "./flow-objects.ts";
export { ClusterStorageQuota } from "./stored-limits.ts";
