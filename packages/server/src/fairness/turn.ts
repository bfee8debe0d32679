/**
 * A turn of the event loop, and how much work may begin in it.
 *
 * One thread does all the work, so a request that arrives waits for whatever the turn it arrives in still has to do. Kubernetes bounds how
 * many requests run at once; here the same end needs a bound on how much begins before the next arrivals are looked at. Work is
 * counted by estimate, because it goes on in pieces after it began and nobody could measure it in time.
 */
export interface TurnOptions {
  /** What may begin in one turn, in microseconds as estimated. */
  readonly budgetMicros: number;
  /** Calls back in the next turn; `setImmediate` but for tests. */
  readonly nextTurn?: (callback: () => void) => void;
  /** Called at the beginning of a turn that something waits for; says whether something still waits. */
  readonly onTurn: () => boolean;
}

export const turnBudgetDefaultMicros = 2000;

export class Turn {
  readonly #budget: number;
  readonly #nextTurn: (callback: () => void) => void;
  readonly #onTurn: () => boolean;
  #left: number;
  #isScheduled = false;

  constructor({ budgetMicros, nextTurn = setImmediate, onTurn }: TurnOptions) {
    this.#budget = budgetMicros;
    this.#left = budgetMicros;
    this.#nextTurn = nextTurn;
    this.#onTurn = onTurn;
  }

  /** Whether something may begin now; what is larger than the whole budget begins when the budget is untouched or not used up. */
  get isOpen(): boolean {
    return this.#left > 0;
  }

  spend(micros: number): void {
    this.#left -= micros;
    if (!this.#isScheduled) this.wake();
  }

  /** Something waits: a turn will come for it. */
  wake(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#begin);
  }

  readonly #begin = (): void => {
    this.#isScheduled = false;
    this.#left = this.#budget;
    if (this.#onTurn()) this.wake();
  };
}
