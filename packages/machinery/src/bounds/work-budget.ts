/** Counts the work that an input causes while it is done, and ends it when it is more than its bound allows. */
import { BoundExceededError, type WorkBound } from "./bound.ts";

export class WorkBudget {
  readonly #bound: WorkBound;
  #left: number;

  constructor(bound: WorkBound) {
    this.#bound = bound;
    this.#left = bound.unitsMax;
  }

  /** Units that are left. */
  get left(): number {
    return this.#left;
  }

  /** Throws BoundExceededError when more is spent than there was. Charged before the work is done, and by what comes out of it. */
  charge(units = 1): void {
    this.#left -= units;
    if (this.#left < 0)
      throw new BoundExceededError(this.#bound, "units of work", this.#bound.unitsMax);
  }
}
