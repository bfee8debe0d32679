/**
 * Turns of the event loop, shared by all resumable work: each task's step is short, and the steps
 * of many tasks together would be long. A turn has some milliseconds for such work; later tasks
 * wait for the next turn, in the order of arrival.
 */

/** Milliseconds of a turn; the running step may exceed them. */
export const turnMsMax = 8;

export interface TurnsOptions {
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  /** Calls back in the next turn of the event loop. */
  readonly nextTurn: (callback: () => void) => void;
}

export class Turns {
  readonly #options: TurnsOptions;
  #waiting: (() => void)[] = [];
  /** How many waiting tasks have been resumed. */
  #resumed = 0;
  /** When the first work of this turn began; undefined when there was none yet. */
  #openedAt: number | undefined;
  /** Tasks that arrived when the turn was used up. */
  #late = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Resolves in a later turn that has time left. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#options.nextTurn(this.#come);
    });
  }

  /** Whether a task waits for a turn. */
  get isWaitedFor(): boolean {
    return this.#waiting.length > 0;
  }

  /** Whether other tasks have used up this turn. */
  isOver(now: number): boolean {
    return this.#openedAt !== undefined && now - this.#openedAt >= turnMsMax;
  }

  /** Records that work was done in this turn. */
  noteWork(startedAt: number): void {
    if (this.#openedAt !== undefined) return;
    this.#openedAt = startedAt;
    this.#options.nextTurn(this.#close);
  }

  /** Resumes one waiting task: its step ends before the next task is resumed. */
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

/** Used entries of the queue that are kept before it is compacted. */
const compactedAt = 1000;
