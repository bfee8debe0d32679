/**
 * Limits the Events of one namespace that are synced up: a burst, then a rate per second.
 * Namespaces without Events are removed after a while.
 */
import type { Clock } from "@kcp-ts/machinery/base";

const burst = 200;
const perSecond = 10;
const namespacesMax = 10_000;

interface TokenBucket {
  tokens: number;
  atMs: number;
}

export class EventRateLimiter {
  readonly #clock: Clock;
  readonly #accounts = new Map<string, TokenBucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** 0: proceed, and count it. */
  waitMs(namespace: string): number {
    const nowMs = this.#clock.monotonic();
    if (this.#accounts.size >= namespacesMax) this.#accounts.clear();
    const account = this.#accounts.get(namespace) ?? { tokens: burst, atMs: nowMs };
    this.#accounts.set(namespace, account);
    const earned = ((nowMs - account.atMs) / 1000) * perSecond;
    account.tokens = Math.min(burst, account.tokens + earned);
    account.atMs = nowMs;
    if (account.tokens < 1) return Math.ceil(((1 - account.tokens) / perSecond) * 1000);
    account.tokens--;
    return 0;
  }
}
