/**
 * A circuit breaker for one kind: when all objects of a kind fail, the kind pauses, and a single
 * object probes whether requests succeed again. Other kinds are not affected.
 *
 *     closed ── failuresToOpen in a row ──▶ open ── pause over ──▶ half open ── success ──▶ closed
 *                                            ▲                         │
 *                                            └─ failure, pause doubles ┘
 *
 * The pause also ends when there is a sign that requests succeed again.
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

  /** 0: the caller may proceed, and reports the result. Otherwise, the time until the next call. */
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

  /** The probe failed for a reason that does not concern the kind: another object may probe. */
  releaseProbe(): void {
    this.#isProbing = false;
  }

  /** There is a sign that requests succeed again: a single object may probe now. */
  allowProbe(): void {
    if (this.#openUntilMs !== undefined) this.#openUntilMs = this.#options.clock.monotonic();
  }

  /** A failure of the connection or the kind, not of one object. */
  failed(): void {
    this.#isProbing = false;
    this.#failures++;
    if (this.#failures < failuresToOpen) return;
    this.#openings++;
    const { clock, random } = this.#options;
    this.#openUntilMs = clock.monotonic() + backoffMs(rest, this.#openings, random);
  }
}
