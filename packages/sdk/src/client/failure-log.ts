/**
 * FailureLog: warnings about what is tried again and again. A failure that repeats is logged at its
 * first, second, fourth, eighth time and so on; another failure, and one after a success, at once.
 */
import type { Log } from "./log.ts";

export class FailureLog {
  readonly #log: Log;
  #last = "";
  #times = 0;

  constructor(log: Log) {
    this.#log = log;
  }

  failed(text: string): void {
    this.#times = text === this.#last ? this.#times + 1 : 1;
    this.#last = text;
    const isPowerOfTwo = (this.#times & (this.#times - 1)) === 0;
    if (!isPowerOfTwo) return;
    const attempt = this.#times === 1 ? "" : `attempt ${this.#times}, `;
    this.#log.warn(`${text}; ${attempt}it is tried again`);
  }

  succeeded(): void {
    this.#last = "";
  }
}
