export { bootstrapFlowSchemas, bootstrapPriorityLevels } from "./bootstrap.ts";
export {
  FlowControl,
  type FlowControlledRequest,
  type FlowControlOptions,
  flowControlDefaults,
} from "./fairness.ts";
export { FlowControlMetrics } from "./fairness-metrics.ts";
export { FlowSchema } from "./flow-schema.ts";
export { ObjectLimiter, type ObjectLimits, type StoredUsage } from "./object-limits.ts";
export type { PriorityLevel, QueuedRequest, RejectReason } from "./priority-level.ts";
export { tooManyRequestsResponse } from "./too-busy.ts";
export {
  autoUpdateAnnotation,
  danglingCondition,
  ensuredObject,
  planEnsure,
  withCondition,
} from "./upkeep.ts";
export {
  holdSlotWhileOpen,
  WatchLimiter,
  type WatchLimits,
  type WatchSlot,
} from "./watch-limits.ts";
export { estimateRead, estimateWrite, type ObjectCounter } from "./work-estimate.ts";
