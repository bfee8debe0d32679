/**
 * Work queues of keys: deduplicated, prioritised, fair between flows, with backoff after failures.
 */
export {
  BucketRateLimiter,
  defaultRateLimiter,
  ExponentialFailureRateLimiter,
  MaxOfRateLimiter,
  type RateLimiter,
} from "./rate-limiter.ts";
export { type AddOptions, WorkQueue, type WorkQueueOptions } from "./work-queue.ts";
