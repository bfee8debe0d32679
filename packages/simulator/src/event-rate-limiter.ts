/**
 * Limits the Events that a cluster may write: a burst, then a rate per second. A real kubelet has
 * such a limit, too; without it, ten thousand Pods would spend most of their start on Events.
 */
import type { Clock } from "@kcp-ts/machinery/base";

export interface EventRateLimiterOptions {
  readonly burst: number;
  readonly perSecond: number;
}

export class EventRateLimiter {
  readonly #clock: Clock;
  readonly #options: EventRateLimiterOptions;
  #tokens: number;
  #atMs: number;

  constructor(clock: Clock, options: EventRateLimiterOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#tokens = options.burst;
    this.#atMs = clock.monotonic();
  }

  take(): boolean {
    const nowMs = this.#clock.monotonic();
    const { burst, perSecond } = this.#options;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#atMs) / 1000) * perSecond);
    this.#atMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
