/** TokenBucket limits a rate: a burst first, then so many per second. */
import type { Clock } from "./clock.ts";

interface TokenBucketOptions {
  readonly burst: number;
  readonly perSecond: number;
}

export class TokenBucket {
  readonly #clock: Clock;
  readonly #options: TokenBucketOptions;
  #tokens: number;
  #atMs: number;

  constructor(clock: Clock, options: TokenBucketOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#tokens = options.burst;
    this.#atMs = clock.monotonic();
  }

  /** Takes a token and returns 0; without one, the milliseconds until the next. */
  take(): number {
    const { burst, perSecond } = this.#options;
    const nowMs = this.#clock.monotonic();
    const earned = ((nowMs - this.#atMs) / 1000) * perSecond;
    this.#tokens = Math.min(burst, this.#tokens + earned);
    this.#atMs = nowMs;
    if (this.#tokens < 1) return Math.ceil(((1 - this.#tokens) / perSecond) * 1000);
    this.#tokens--;
    return 0;
  }
}
