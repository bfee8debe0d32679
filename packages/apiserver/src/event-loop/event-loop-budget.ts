/**
 * How much of something one turn of the event loop may take.
 *
 * One thread does all the work, so a request that arrives waits for whatever the turn it arrives in
 * still has to do. Kubernetes bounds how many requests run at once; here the same end needs a bound
 * on how much is begun before the next arrivals are looked at. Work is counted by estimate, because
 * it goes on in pieces after it began and could not be measured in time.
 */
import { eventLoopLimits } from "./limits.ts";

export interface EventLoopBudgetOptions {
  readonly perTurn: number;
  /** The same for some turns after a second tenant was noticed at work. */
  readonly contendedPerTurn?: number | undefined;
  /** Calls back in the next turn; `setImmediate` but for tests. */
  readonly nextTurn?: NextTurn | undefined;
  /** Called at the beginning of a turn that was asked for; says whether something still waits. */
  readonly onTurn?: (() => boolean) | undefined;
}

export type NextTurn = (callback: () => void) => void;

export class EventLoopBudget {
  readonly #perTurn: number;
  readonly #contendedPerTurn: number;
  readonly #nextTurn: NextTurn;
  readonly #onTurn: (() => boolean) | undefined;
  /** Changes from turn to turn. */
  turn = 0;
  /** Negative when the last thing that was begun took more than was left. */
  left: number;
  #contendedUntil = 0;
  #isScheduled = false;
  #waiting: (() => void)[] = [];

  constructor(options: EventLoopBudgetOptions) {
    const { perTurn, contendedPerTurn = perTurn, nextTurn = setImmediate, onTurn } = options;
    this.#perTurn = perTurn;
    this.#contendedPerTurn = contendedPerTurn;
    this.left = perTurn;
    this.#nextTurn = nextTurn;
    this.#onTurn = onTurn;
  }

  /** Whether something may begin now; also what is larger than all that is left, or than the whole. */
  get isOpen(): boolean {
    return this.left > 0;
  }

  spend(amount: number): void {
    this.left -= amount;
    if (!this.#isScheduled) this.wake();
  }

  noteContention(): void {
    this.#contendedUntil = this.turn + eventLoopLimits.compute.contendedTurns;
  }

  /** More than one tenant was at work lately. */
  get isContended(): boolean {
    return this.turn < this.#contendedUntil;
  }

  /** Something waits: a turn will come for it. */
  wake(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#nextTurn(this.#begin);
  }

  /** Calls back in a turn that has room, soon. */
  wait(resume: () => void): void {
    this.#waiting.push(resume);
    this.wake();
  }

  readonly #begin = (): void => {
    this.#isScheduled = false;
    this.turn++;
    this.left = this.isContended ? this.#contendedPerTurn : this.#perTurn;
    if (this.#waiting.length > 0) this.#resume();
    if (this.#onTurn?.() === true) this.wake();
  };

  #resume(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    let at = 0;
    while (at < waiting.length && this.isOpen) (waiting[at++] as () => void)();
    if (at === waiting.length) return;
    // Those that had no turn come first in the next one.
    this.#waiting = [...waiting.slice(at), ...this.#waiting];
    this.wake();
  }
}
