/** How many Events of one namespace are copied up: a burst, then so many a second. Namespaces that say nothing for a while are forgotten. */
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

  /** Zero: go ahead, it is counted. */
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
