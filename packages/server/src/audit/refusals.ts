/**
 * Requests that were refused before anybody asked who they are from: paths that cannot be read, timeouts that are none. Whoever likes can send
 * as many as a connection takes, so that only some of each second are written down; the rest is counted.
 */
export const refusalsPerSecond = 100;

export class Refusals {
  #secondBeganAt = Number.NEGATIVE_INFINITY;
  #written = 0;
  #leftOut = 0;

  /** How many were left out since the last one that was written, or undefined to leave out this one as well. */
  next(nowMs: number): number | undefined {
    if (nowMs - this.#secondBeganAt >= 1000) {
      this.#secondBeganAt = nowMs;
      this.#written = 0;
    }
    if (this.#written >= refusalsPerSecond) {
      this.#leftOut++;
      return undefined;
    }
    this.#written++;
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut;
  }
}
