/**
 * EventSampler limits the records of requests that any client can send, as many as a connection
 * permits: requests rejected before authentication (invalid paths or timeouts), and unauthenticated
 * ones. Only some of each second are recorded; the rest is counted. Long requests count several
 * times, because disk space is the limit.
 */
export const rejectedPerSecond = 100;
/**
 * Requests with invalid or no credentials. They have a limit of their own: malformed requests do
 * not displace attempts to authenticate.
 */
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

  /**
   * Whether this second permits one more request, with so many characters that its sender chose;
   * takes it if so.
   */
  trySample(nowMs: number, length: number): boolean {
    if (nowMs - this.#secondBeganAt >= 1000) {
      this.#secondBeganAt = nowMs;
      this.#taken = 0;
    }
    const room = 1 + Math.floor(length / lengthOfOne);
    if (this.#taken + room > this.#perSecond) return false;
    this.#taken += room;
    return true;
  }

  countOmitted(): void {
    this.#leftOut++;
  }

  /** The number of requests omitted since the last record that contains it. */
  takeOmitted(): number {
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut;
  }
}
