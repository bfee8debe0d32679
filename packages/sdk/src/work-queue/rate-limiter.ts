/** How long a key that failed waits before it is tried again. */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";

export interface RateLimiter {
  /** The delay for this try; asking is trying. */
  delayMs(key: string): number;
  /** The key is fine again. */
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

/** So many retries a second for all keys together, with a burst. */
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

  /** Takes a token if there is one now; nothing is owed if there is none. */
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

/** What client-go's controllers use, but for the longest delay: 16 minutes is longer than anybody waits. */
export function defaultRateLimiter(clock: Clock): RateLimiter {
  return new MaxOfRateLimiter([
    new ExponentialFailureRateLimiter({ firstMs: 5, mostMs: 300_000 }),
    new BucketRateLimiter({ perSecond: 10, burst: 100, clock }),
  ]);
}
