/**
 * Answers that are ready and wait for their readers, over all connections of a listener. They are memory that the readers hold: it is counted, and
 * who holds much has nothing more begun until some of it was read.
 *
 * Watches are not counted: their buffers have limits of their own.
 */
export interface BacklogLimits {
  /** While so much waits on a connection, none of its further requests begins. */
  readonly backlogBytesPerConnectionMax: number;
  /** While so much waits in all, only connections begin requests on which nothing waits; and who does not read at all is ended sooner. */
  readonly backlogBytesMax: number;
}

export class Backlog {
  readonly #limits: BacklogLimits;
  #bytes = 0;

  constructor(limits: BacklogLimits) {
    this.#limits = limits;
  }

  /** Negative when they were sent, or given up. */
  add(bytes: number): void {
    this.#bytes += bytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#limits.backlogBytesMax;
  }

  /** Whether a connection on which so many bytes wait may begin something. */
  allows(waitingBytes: number): boolean {
    return (
      waitingBytes === 0 ||
      (waitingBytes < this.#limits.backlogBytesPerConnectionMax && !this.isFull)
    );
  }
}
