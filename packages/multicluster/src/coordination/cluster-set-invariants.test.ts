/**
 * Goal: the invariants of the histories detect the bugs that they are meant for. Method:
 * implementations with one seeded fault each; a few histories must find each fault by its effect
 * and not by chance.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runHistory } from "./test-support/cluster-set/run-history.ts";
import { type SeededFault, seededFaults } from "./test-support/cluster-set/seeded-faults.ts";

/**
 * The first seed is near the one that found the fault: another seed may find it when the simulation
 * changes.
 */
const historiesMax = 60;

function foundIn({ implementation, seed: first, found, breaks, isLimited }: SeededFault): number {
  for (let seed = first; seed < first + historiesMax; seed++) {
    try {
      runHistory(seed, { implementation, isLimited });
    } catch (error) {
      const { cause, message = "" } = error as Error;
      assert.ok(cause instanceof assert.AssertionError, message);
      if (found.test(cause.message)) return seed;
    }
  }
  return assert.fail(`nobody finds that it ${breaks}`);
}

describe("invariants of seeded histories", () => {
  for (const fault of seededFaults) {
    it(`the invariants find an implementation that ${fault.breaks}`, () => {
      assert.ok(foundIn(fault) >= fault.seed);
    });
  }
});
