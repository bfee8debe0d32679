export {
  EventLoopBudget,
  InboundBudget,
  type NextTurn,
  OutboundBudget,
  QueuedStreams,
  resumeTogether,
  UnreadResponseBudget,
} from "./budgets.ts";
export { FairQueue, type QueueItem } from "./fair-queue.ts";
export { eventLoopCosts, eventLoopLimits, type InboundLimits } from "./limits.ts";
export {
  LargeRequestQueue,
  retryAfterSeconds,
  SmallRequestBypass,
  tooBusy,
  WatchOpenLimiter,
} from "./request-queues.ts";

export { StreamPacer } from "./stream-pacer.ts";
