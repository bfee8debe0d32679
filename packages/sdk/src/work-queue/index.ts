/** Keys that need work: deduplicated, prioritised, fair between flows, patient after failures. */
export {
  BucketRateLimiter,
  defaultRateLimiter,
  ExponentialFailureRateLimiter,
  MaxOfRateLimiter,
  type RateLimiter,
} from "./rate-limiter.ts";
export { type AddOptions, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";
