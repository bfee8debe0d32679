/**
 * A clock that runs faster than the real one, for tests of programs that wait for sockets as well
 * as for time: an hour of back-off, pings and expiring watches goes by in minutes, while bytes take
 * as long as they take.
 */
import { type Clock, systemClock, type Timer } from "@kcp-ts/machinery/base";

export class AcceleratedClock implements Clock {
  readonly #speed: number;
  readonly #startedAtMs = systemClock.monotonic();
  readonly #wallMs = systemClock.now();

  /** `speed` seconds pass here in one of the real ones. */
  constructor(speed: number) {
    this.#speed = speed;
  }

  now(): number {
    return this.#wallMs + this.monotonic();
  }

  monotonic(): number {
    return (systemClock.monotonic() - this.#startedAtMs) * this.#speed;
  }

  schedule(delayMs: number, callback: () => void): Timer {
    return systemClock.schedule(delayMs / this.#speed, callback);
  }
}
