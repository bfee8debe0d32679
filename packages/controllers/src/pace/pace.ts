/**
 * Pace: lets others have the process while long work goes on.
 *
 * In process, a request may be answered without ever leaving the current turn of the event loop; a thousand of them in a row would keep
 * every tenant waiting. So work that repeats asks between its steps whether it has had its share of time.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";

/** How long one piece of work may keep the others waiting. */
const shareMs = 1;

export class YieldTimer {
  readonly #clock: Clock;
  #since: number;
  #resting: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.monotonic();
  }

  /** Undefined when there is time left; all who share a pace rest together. */
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
