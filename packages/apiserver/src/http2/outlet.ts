/**
 * How much of large answers is sent in one turn of the event loop, over all connections of a listener: encrypting and writing them takes the one
 * thread that everybody waits for. A connection may always send a little, so that small answers never wait here.
 */
export const outletLimits = {
  /** About a millisecond's worth for one connection, two for all: framed, encrypted, and handed to a peer on the same machine, which is the dearest. */
  bytesPerConnectionMax: 128 << 10,
  bytesPerTurnMax: 256 << 10,
  bytesFree: 4 << 10,
} as const;

export class Outlet {
  readonly #nextTurn: (callback: () => void) => void;
  #left: number = outletLimits.bytesPerTurnMax;
  #turn = 0;
  #isScheduled = false;

  /** `nextTurn` is `setImmediate` but for tests. */
  constructor(nextTurn: (callback: () => void) => void = setImmediate) {
    this.#nextTurn = nextTurn;
  }

  /** Changes from turn to turn. */
  get turn(): number {
    return this.#turn;
  }

  /** Whether a connection that has sent so much in this turn may send more. */
  allows(sentBytes: number): boolean {
    if (sentBytes < outletLimits.bytesFree) return true;
    return sentBytes < outletLimits.bytesPerConnectionMax && this.#left > 0;
  }

  spend(bytes: number): void {
    this.#left -= bytes;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#begin);
  }

  readonly #begin = (): void => {
    this.#isScheduled = false;
    this.#turn++;
    this.#left = outletLimits.bytesPerTurnMax;
  };
}
