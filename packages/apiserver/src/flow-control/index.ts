export { bootstrapFlowSchemas, bootstrapPriorityLevels } from "./bootstrap.ts";
export {
  autoUpdateAnnotation,
  danglingCondition,
  ensuredObject,
  planEnsure,
  withCondition,
} from "./bootstrap-ensurer.ts";
export {
  FlowControl,
  type FlowControlledRequest,
  type FlowControlOptions,
} from "./flow-control.ts";
export { FlowControlMetrics } from "./flow-control-metrics.ts";
export { FlowSchema } from "./flow-schema.ts";
export { ObjectLimiter, type ObjectLimits, type StoredUsage } from "./object-limits.ts";
export type { QueuedRequest } from "./priority-level.ts";
export { tooManyRequestsResponse } from "./too-many-requests.ts";
export {
  holdSlotWhileOpen,
  WatchLimiter,
  type WatchLimits,
  type WatchSlot,
} from "./watch-limits.ts";
export { estimateRead, estimateWrite, type ObjectCounter } from "./work-estimate.ts";
