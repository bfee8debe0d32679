/**
 * What the columns of one Table may cost, which a tenant writes: a row what a row may, and all rows together what an answer may. Every row has a little of
 * its own, so that a long list of ordinary columns is never short of it.
 */
import { WorkBudget, workBounds } from "@kcp-ts/machinery/bounds";

/** Units that no row has to share: columns of ordinary definitions take some tens. */
const ownUnits = 1000;

export class TableBudget {
  #shared: number = workBounds.tableAnswer.unitsMax;

  /** Units that are left for rows that need more than their own. */
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
