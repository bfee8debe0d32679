import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { narrowFaults } from "./narrow-faults.ts";

const hundred = Array.from({ length: 100 }, (_, n) => n + 1);

/** Fails with all of these faults, and counts how often it was tried. */
function failsWith(...needed: readonly number[]) {
  const tried: number[][] = [];
  const fails = async (some: readonly number[]) => {
    tried.push([...some]);
    return needed.every((one) => some.includes(one));
  };
  return { tried, fails };
}

describe("narrowFaults", () => {
  it("finds one fault among a hundred in as many tries as halves need", async () => {
    const { tried, fails } = failsWith(73);
    assert.deepEqual(await narrowFaults(hundred, fails, 1000), { faults: [73], isCut: false });
    assert.ok(tried.length <= 14, `${tried.length} tries`);
  });

  it("finds the three faults that are needed together", async () => {
    const { fails } = failsWith(3, 4, 97);
    const { faults } = await narrowFaults(hundred, fails, 1000);
    assert.deepEqual(faults, [3, 4, 97]);
  });

  it("says when its tries ended before the shortest was found", async () => {
    const { tried, fails } = failsWith(3, 97);
    const { faults, isCut } = await narrowFaults(hundred, fails, 9);
    assert.equal(tried.length, 9);
    assert.ok(isCut);
    assert.ok(faults.length > 2 && faults.length < 100, `${faults.length} faults`);
  });

  it("tries nothing where there is one fault", async () => {
    const { tried, fails } = failsWith(1);
    assert.deepEqual(await narrowFaults([1], fails, 10), { faults: [1], isCut: false });
    assert.deepEqual(tried, []);
  });
});
