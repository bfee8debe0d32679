/**
 * A server's time, which runs fast, so that bookmarks and deadlines come within a history, and
 * whose wall clock can be set forth and back.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { AcceleratedClock } from "@kcp-ts/testkit";

export class ShiftedClock implements Clock {
  readonly #clock: Clock;
  #shiftMs = 0;

  constructor(speed: number) {
    this.#clock = new AcceleratedClock(speed);
  }

  /** As an operator, or a time server, does. */
  jump(byMs: number): void {
    this.#shiftMs += byMs;
  }

  now(): number {
    return this.#clock.now() + this.#shiftMs;
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  schedule(delayMs: number, callback: () => void): Timer {
    return this.#clock.schedule(delayMs, callback);
  }
}
