/**
 * Turns of the event loop, shared by all work that is cut into pieces: what each of many does in a turn is short, and all of it together would be long.
 * A turn has room for some milliseconds of such work; whoever comes later waits for the next, in the order of coming.
 */

/** Milliseconds of a turn; the piece that is under way may take it further. */
export const turnMsMax = 8;

export interface TurnsOptions {
  /** Milliseconds on a counter that never goes back. */
  readonly monotonic: () => number;
  /** Calls back when the event loop has turned. */
  readonly nextTurn: (callback: () => void) => void;
}

export class Turns {
  readonly #options: TurnsOptions;
  #waiting: (() => void)[] = [];
  /** How many of them have been resumed. */
  #resumed = 0;
  /** When the first work of this turn began; undefined when there was none yet. */
  #openedAt: number | undefined;
  /** Calls that came when there was no room left. */
  #late = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Resolves in a later turn that has room. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#options.nextTurn(this.#come);
    });
  }

  /** Some work waits for a turn. */
  get isWaitedFor(): boolean {
    return this.#waiting.length > 0;
  }

  /** Others have had this turn. */
  isOver(now: number): boolean {
    return this.#openedAt !== undefined && now - this.#openedAt >= turnMsMax;
  }

  /** Says that work was done in this turn. */
  noteWork(startedAt: number): void {
    if (this.#openedAt !== undefined) return;
    this.#openedAt = startedAt;
    this.#options.nextTurn(this.#close);
  }

  /** Resumes one of those that wait: what it does is done before the next one comes. */
  readonly #come = (): void => {
    const now = this.#options.monotonic();
    if (this.isOver(now)) {
      this.#late++;
      return;
    }
    this.noteWork(now);
    const resume = this.#waiting[this.#resumed++] as () => void;
    if (this.#resumed === this.#waiting.length) {
      this.#waiting = [];
      this.#resumed = 0;
    } else if (this.#resumed > compactedAt) {
      this.#waiting = this.#waiting.slice(this.#resumed);
      this.#resumed = 0;
    }
    resume();
  };

  readonly #close = (): void => {
    this.#openedAt = undefined;
    for (; this.#late > 0; this.#late--) this.#options.nextTurn(this.#come);
  };
}

/** Entries of a queue that are kept after they were used. */
const compactedAt = 1000;
