/**
 * Runs a resync on request, one at a time: a request during a resync runs another one after it. A
 * failed resync is repeated.
 */
import { type Clock, sleep } from "@kcp-ts/machinery/base";

export interface ResyncOptions {
  readonly audit: (signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** Gaps come in threes, one for each watch: one resync serves all of them. */
const gatherMs = 50;
const retryMs = 5000;

export class Resync {
  readonly #options: ResyncOptions;
  #isDue = false;
  #wake: () => void = () => {};

  constructor(options: ResyncOptions) {
    this.#options = options;
  }

  request(): void {
    this.#isDue = true;
    this.#wake();
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#wake();
    signal.addEventListener("abort", stop, { once: true });
    while (!signal.aborted) {
      if (!this.#isDue) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      await this.#attempt(signal);
    }
    signal.removeEventListener("abort", stop);
  }

  async #attempt(signal: AbortSignal): Promise<void> {
    const { audit, clock, onError } = this.#options;
    try {
      await sleep(clock, gatherMs, signal);
      this.#isDue = false;
      await audit(signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#isDue = true;
      onError(error);
      await sleep(clock, retryMs, signal).catch(() => {
        // Only the signal ends the wait early, and the loop checks the signal.
      });
    }
  }
}
