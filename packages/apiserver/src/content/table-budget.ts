/**
 * TableBudget: the cost limit of the columns of one Table, which a tenant defines: a limit for each
 * row, and one for all rows together. Every row has a small budget of its own, so that a long list
 * with ordinary columns never exceeds it.
 */
import { WorkBudget, workBounds } from "@kcp-ts/machinery/bounds";

/** The units that each row has for itself: columns of ordinary definitions take some tens. */
const ownUnits = 1000;

export class TableBudget {
  #shared: number = workBounds.tableAnswer.unitsMax;

  /** The units that are left for rows that need more than their own. */
  get shared(): number {
    return Math.max(0, this.#shared);
  }

  row<Result>(make: (budget: WorkBudget) => Result): Result {
    const { tableRow } = workBounds;
    const unitsMax = Math.min(tableRow.unitsMax, ownUnits + this.shared);
    const budget = new WorkBudget({ ...tableRow, unitsMax });
    try {
      return make(budget);
    } finally {
      this.#shared -= Math.max(0, unitsMax - budget.left - ownUnits);
    }
  }
}
