/**
 * A fuse for one kind: when everything of it fails, it rests, and a single object tries whether the way is free again. The other kinds do not notice.
 *
 *     closed ── failuresToOpen in a row ──▶ open ── rest is over ──▶ half open ── success ──▶ closed
 *                                            ▲                           │
 *                                            └──── failure, rest doubles ┘
 *
 * The rest is also over when there is a sign that the way is free.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { backoffMs } from "@kcp-ts/sdk";

export interface CircuitBreakerOptions {
  readonly clock: Clock;
  readonly random: Random;
}

export const failuresToOpen = 5;
const rest = { firstMs: 1000, mostMs: 60_000 };

export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  #failures = 0;
  #openings = 0;
  #openUntilMs: number | undefined;
  #isProbing = false;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#openUntilMs !== undefined;
  }

  /** 0: go ahead, and tell how it went. Otherwise ask again after so long. */
  waitMs(): number {
    if (this.#openUntilMs === undefined) return 0;
    const leftMs = this.#openUntilMs - this.#options.clock.monotonic();
    if (leftMs > 0) return leftMs;
    if (this.#isProbing) return rest.firstMs;
    this.#isProbing = true;
    return 0;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openings = 0;
    this.#openUntilMs = undefined;
    this.#isProbing = false;
  }

  /** It failed for a reason that says nothing about the kind: somebody else may try. */
  wasInconclusive(): void {
    this.#isProbing = false;
  }

  /** There is a sign that the way is free: whether it is, a single object tries now. */
  wayIsFree(): void {
    if (this.#openUntilMs !== undefined) this.#openUntilMs = this.#options.clock.monotonic();
  }

  /** Of the way or the kind, not of one object. */
  failed(): void {
    this.#isProbing = false;
    this.#failures++;
    if (this.#failures < failuresToOpen) return;
    this.#openings++;
    const { clock, random } = this.#options;
    this.#openUntilMs = clock.monotonic() + backoffMs(rest, this.#openings, random);
  }
}
