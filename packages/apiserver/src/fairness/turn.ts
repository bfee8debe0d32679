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
  /** The same for some turns after others were noticed beside whoever is at work. */
  readonly sharedBudgetMicros?: number;
  /** Calls back in the next turn; `setImmediate` but for tests. */
  readonly nextTurn?: (callback: () => void) => void;
  /** Called at the beginning of a turn that something waits for; says whether something still waits. */
  readonly onTurn: () => boolean;
}

export const turnBudgetDefaultMicros = 2000;
export const sharedTurnBudgetDefaultMicros = 800;
/** For how long company is remembered: about as many milliseconds under load. */
const companyTurns = 200;

export class Turn {
  readonly #budget: number;
  readonly #sharedBudget: number;
  readonly #nextTurn: (callback: () => void) => void;
  readonly #onTurn: () => boolean;
  #left: number;
  #number = 0;
  #sharedUntil = 0;
  #isScheduled = false;

  constructor(options: TurnOptions) {
    const { budgetMicros, nextTurn = setImmediate, onTurn } = options;
    this.#budget = budgetMicros;
    this.#sharedBudget = options.sharedBudgetMicros ?? budgetMicros;
    this.#left = budgetMicros;
    this.#nextTurn = nextTurn;
    this.#onTurn = onTurn;
  }

  /** Whether something may begin now; what is larger than the whole budget begins when the budget is untouched or not used up. */
  get isOpen(): boolean {
    return this.#left > 0;
  }

  get number(): number {
    return this.#number;
  }

  noteCompany(): void {
    this.#sharedUntil = this.#number + companyTurns;
  }

  /** Others were noticed lately. */
  get hasCompany(): boolean {
    return this.#number < this.#sharedUntil;
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
    this.#number++;
    this.#left = this.hasCompany ? this.#sharedBudget : this.#budget;
    if (this.#onTurn()) this.wake();
  };
}
