/**
 * Limits the Events of one namespace that are synced up: a burst, then a rate per second.
 * Namespaces without Events are removed after a while.
 */
import { type Clock, TokenBucket } from "@kcp-ts/machinery/base";

const rate = { burst: 200, perSecond: 10 };
const namespacesMax = 10_000;

export class EventRateLimiter {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** 0: proceed, and count it. */
  waitMs(namespace: string): number {
    if (this.#buckets.size >= namespacesMax) this.#buckets.clear();
    let bucket = this.#buckets.get(namespace);
    if (bucket === undefined) {
      bucket = new TokenBucket(this.#clock, rate);
      this.#buckets.set(namespace, bucket);
    }
    return bucket.take();
  }
}
