/** Supplies what fairness declares, from what is stored: flow schemas, levels, and how much a cluster holds. */
export { FlowObjects } from "./flow-objects.ts";
export { StoredLimits } from "./stored-limits.ts";
