/** Counts the work that an input causes while it is done, and throws when it exceeds its bound. */
import { BoundExceededError, type WorkBound } from "./bound.ts";

export class WorkBudget {
  readonly #bound: WorkBound;
  #left: number;

  constructor(bound: WorkBound) {
    this.#bound = bound;
    this.#left = bound.unitsMax;
  }

  /** Remaining units. */
  get left(): number {
    return this.#left;
  }

  /**
   * Throws BoundExceededError when the budget is exceeded. Charged before the work is done, and by
   * its results.
   */
  charge(units = 1): void {
    this.#left -= units;
    if (this.#left < 0)
      throw new BoundExceededError(this.#bound, "units of work", this.#bound.unitsMax);
  }
}
