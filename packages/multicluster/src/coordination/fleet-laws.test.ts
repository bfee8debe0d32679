/** Goal: the laws of the histories find what they are for. Method: products with one fault each, which must be found within a few histories, for what it does and not by chance. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runHistory } from "./test-support/fleet/history.ts";
import { type SeededFault, seededFaults } from "./test-support/fleet/planted-faults.ts";

/** From the seed near which it was found: another one where the world is another. */
const historiesMax = 60;

function foundIn({ product, seed: first, found, does, isBounded }: SeededFault): number {
  for (let seed = first; seed < first + historiesMax; seed++) {
    try {
      runHistory(seed, { product, isBounded });
    } catch (error) {
      const { cause, message = "" } = error as Error;
      assert.ok(cause instanceof assert.AssertionError, message);
      if (found.test(cause.message)) return seed;
    }
  }
  return assert.fail(`nobody finds that it ${does}`);
}

describe("the laws of a fleet", () => {
  for (const fault of seededFaults) {
    it(`find a product that ${fault.does}`, () => {
      assert.ok(foundIn(fault) >= fault.seed);
    });
  }
});
