/**
 * Pace: yields to the event loop during long work.
 *
 * In process, a request may get its response without ever leaving the current turn of the event
 * loop; a thousand of them in a row would block every tenant. So repeated work checks between its
 * steps whether it has used up its time slice.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";

/** How long one task may block the event loop. */
const shareMs = 1;

export class YieldTimer {
  readonly #clock: Clock;
  #since: number;
  #resting: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Undefined when there is time left; all users of a pace yield together. */
  rest(signal: AbortSignal): Promise<void> | undefined {
    if (this.#resting !== undefined) return this.#resting;
    if (this.#clock.monotonic() - this.#since < shareMs) return undefined;
    this.#resting = sleep(this.#clock, 0, signal).finally(() => {
      this.#since = this.#clock.monotonic();
      this.#resting = undefined;
    });
    return this.#resting;
  }
}
