export { bootstrapLevels, bootstrapSchemas } from "./bootstrap.ts";
export { Fairness, type FairnessOptions, fairnessDefaults, type Visitor } from "./fairness.ts";
export { FairnessMetrics } from "./fairness-metrics.ts";
export { FlowSchema } from "./flow-schema.ts";
export { ObjectLimiter, type ObjectLimits, type Usage } from "./object-limits.ts";
export type { PriorityLevel, RejectReason, Waiter } from "./priority-level.ts";
export { tooBusyResponse } from "./too-busy.ts";
export {
  autoUpdateAnnotation,
  danglingCondition,
  revised,
  statusWith,
  upkeepOf,
} from "./upkeep.ts";
export { keepingPlace, WatchCounter, type WatchLimits, type WatchPlace } from "./watch-limits.ts";
export { estimateRead, estimateWrite, type ObjectCounter } from "./work-estimate.ts";
