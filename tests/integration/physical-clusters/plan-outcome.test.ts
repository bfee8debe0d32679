/**
 * Goal: what a plan says is what then happens. Method: for trials by seed, the plan of a drain, a
 * loss, a join or an edit is compared with the whole product at rest after that change.
 *
 * `KCP_SEED` selects the first seed and `KCP_HISTORIES` how many, for `node --test
 * tests/dist/integration/physical-clusters/plan-outcome.test.js`.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PlanOutcomes, trialOf } from "./plan-outcome-fixture.ts";

const first = Number(process.env["KCP_SEED"] ?? 1);
const count = Number(process.env["KCP_HISTORIES"] ?? 12);
const concurrency = 4;

describe("a plan", () => {
  it(`equals what happens at rest, for clusters and workloads by seed, from ${first} on`, async (t) => {
    const outcomes = await PlanOutcomes.start(t);
    const failures: string[] = [];
    let [next, moves] = [first, 0];
    const work = async () => {
      while (next < first + count) {
        const seed = next++;
        try {
          const { before, change, plan, planned, happened } = await outcomes.play(seed);
          moves += plan.moves.length;
          const isSame = JSON.stringify(sorted(planned)) === JSON.stringify(sorted(happened));
          if (isSame) continue;
          const seen = { change: verbOf(change), before, planned, happened, plan };
          failures.push(`seed ${seed}: ${JSON.stringify(seen)}\n${JSON.stringify(trialOf(seed))}`);
        } catch (error) {
          failures.push(
            `seed ${seed}: ${(error as Error).message}\n${JSON.stringify(trialOf(seed))}`,
          );
        }
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    t.diagnostic(`${count} trials, ${moves} workloads moved or were kept`);
    assert.deepEqual(failures, []);
    assert.ok(moves > 0, "some plans have moves");
  });
});

function verbOf(change: object): object {
  return "objects" in change ? { edit: true } : change;
}

function sorted(value: object): object {
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, typeof one === "object" ? sorted(one as object) : one]),
  );
}
