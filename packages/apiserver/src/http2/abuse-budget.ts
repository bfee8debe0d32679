/**
 * How much a peer may ask for that costs us and brings it nothing: resets of what it just asked for, pings, settings, empty frames.
 *
 * It comes back with time and with every answer that is taken to its end, so that a client that cancels a thousand watches is served, and
 * one that opens streams only to reset them (CVE-2023-44487) is not.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { ConnectionError, errorCode } from "./protocol.ts";

export const abuseBudgetMax = 1000;
const regainedPerMs = 0.1;

export class AbuseBudget {
  readonly #clock: Clock;
  #left = abuseBudgetMax;
  #at: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.monotonic();
  }

  /** Throws when there is none left. */
  spend(): void {
    if (--this.#left >= 0) return;
    const now = this.#clock.monotonic();
    this.#left = Math.min(abuseBudgetMax, Math.floor((now - this.#at) * regainedPerMs)) - 1;
    this.#at = now;
    if (this.#left < 0)
      throw new ConnectionError(errorCode.enhanceYourCalm, "too much noise on the connection");
  }

  /** An answer was taken to its end. */
  regain(): void {
    if (this.#left < abuseBudgetMax) this.#left++;
  }
}
