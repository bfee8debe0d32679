import type { Clock, Timer } from "@kcp-ts/machinery/base";

const silenceMsMax = 3 * 60_000;

/** Ends a watch whose connection is gone without a word: bookmarks come every minute. */
export class SilenceMonitor {
  readonly #clock: Clock;
  readonly #silent = new AbortController();
  readonly signal: AbortSignal;
  #timer: Timer;

  constructor(clock: Clock, stopping: AbortSignal) {
    this.#clock = clock;
    this.signal = AbortSignal.any([this.#silent.signal, stopping]);
    this.#timer = this.#wait();
  }

  /** Called for every sign of the other shard. */
  end(): void {
    this.#timer.cancel();
    this.#timer = this.#wait();
  }

  stop(): void {
    this.#timer.cancel();
    // A stream that was not read to its end is given up.
    this.#silent.abort();
  }

  #wait(): Timer {
    return this.#clock.schedule(silenceMsMax, () => this.#silent.abort());
  }
}
