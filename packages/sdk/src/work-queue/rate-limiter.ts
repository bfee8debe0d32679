/** Rate limiters: how long a failed key waits before its retry. */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";

export interface RateLimiter {
  /** The delay of this retry; each call counts as a retry. */
  delayMs(key: string): number;
  /** Resets the failures of the key. */
  forget(key: string): void;
  retries(key: string): number;
}

/** Doubles with each failure of a key. */
export class ExponentialFailureRateLimiter implements RateLimiter {
  readonly #firstMs: number;
  readonly #mostMs: number;
  readonly #failures = new Map<string, number>();

  constructor({ firstMs, mostMs }: { firstMs: number; mostMs: number }) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
  }

  delayMs(key: string): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.min(this.#mostMs, this.#firstMs * 2 ** Math.min(failures, 60));
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }

  retries(key: string): number {
    return this.#failures.get(key) ?? 0;
  }
}

/** A token bucket for all keys together: a number of retries per second, with a burst. */
export class BucketRateLimiter implements RateLimiter {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #filledAtMs: number;

  constructor(options: { perSecond: number; burst: number; clock?: Clock }) {
    this.#perSecond = options.perSecond;
    this.#burst = options.burst;
    this.#clock = options.clock ?? systemClock;
    this.#tokens = options.burst;
    this.#filledAtMs = this.#clock.monotonic();
  }

  delayMs(): number {
    this.#fill();
    this.#tokens--;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#perSecond) * 1000;
  }

  /** Takes a token if there is one now; without one, nothing is reserved. */
  tryTake(): boolean {
    this.#fill();
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  forget(): void {}

  retries(): number {
    return 0;
  }

  #fill(): void {
    const nowMs = this.#clock.monotonic();
    const gained = ((nowMs - this.#filledAtMs) / 1000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#filledAtMs = nowMs;
  }
}

/** The longest delay of several. */
export class MaxOfRateLimiter implements RateLimiter {
  readonly #limiters: readonly RateLimiter[];

  constructor(limiters: readonly RateLimiter[]) {
    this.#limiters = limiters;
  }

  delayMs(key: string): number {
    return Math.max(...this.#limiters.map((limiter) => limiter.delayMs(key)));
  }

  forget(key: string): void {
    for (const limiter of this.#limiters) limiter.forget(key);
  }

  retries(key: string): number {
    return Math.max(...this.#limiters.map((limiter) => limiter.retries(key)));
  }
}

/**
 * The limiter of client-go's controllers with a shorter maximum delay: client-go's 16 minutes are
 * too long.
 */
export function defaultRateLimiter(clock: Clock): RateLimiter {
  return new MaxOfRateLimiter([
    new ExponentialFailureRateLimiter({ firstMs: 5, mostMs: 300_000 }),
    new BucketRateLimiter({ perSecond: 10, burst: 100, clock }),
  ]);
}
