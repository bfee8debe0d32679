/**
 * Requests that whoever likes can send, as many as a connection takes: refused before anybody asked who they are from (paths that cannot be read,
 * timeouts that are none), or from strangers. Only some of each second are written down; the rest is counted. Long ones count for several: it is the disk that is short.
 */
export const rejectedPerSecond = 100;
/** Requests with wrong credentials or none. Their own number: rubbish does not push out attempts to get in. */
export const unauthenticatedPerSecond = 100;

const lengthOfOne = 1024;

export class EventSampler {
  readonly #perSecond: number;
  #secondBeganAt = Number.NEGATIVE_INFINITY;
  #taken = 0;
  #leftOut = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Whether this second has room for one more, of so many characters that its sender chose, which is taken. */
  take(nowMs: number, length: number): boolean {
    if (nowMs - this.#secondBeganAt >= 1000) {
      this.#secondBeganAt = nowMs;
      this.#taken = 0;
    }
    const room = 1 + Math.floor(length / lengthOfOne);
    if (this.#taken + room > this.#perSecond) return false;
    this.#taken += room;
    return true;
  }

  leaveOut(): void {
    this.#leftOut++;
  }

  /** How many were left out since the last one that tells of them. */
  tell(): number {
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut;
  }
}
