/** Keys that need work: deduplicated, prioritised, fair between flows, patient after failures. */
export {
  BucketLimiter,
  defaultRateLimiter,
  ExponentialLimiter,
  type RateLimiter,
  SlowestLimiter,
} from "./rate-limiter.ts";
export { type AddOptions, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";
