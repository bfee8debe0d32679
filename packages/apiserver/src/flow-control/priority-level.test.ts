/**
 * Goal: a level has the nominal seats, the borrowing limit and the reserved seats that
 * kube-apiserver would give it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { bootstrapPriorityLevels } from "./bootstrap.ts";
import { readPriorityLevel } from "./flow-config.ts";
import { assignSeats, PriorityLevel } from "./priority-level.ts";

type Limits = readonly [nominal: number, lower: number, upper: number];

function limitsOf(objects: readonly JsonObject[], seatsTotal: number): Record<string, Limits> {
  const levels = objects.map((object) => new PriorityLevel(readPriorityLevel(object)));
  assignSeats(levels, seatsTotal);
  return Object.fromEntries(
    levels.map(({ config, nominalSeats, reservedSeats, seatsMax }) => [
      config.name,
      [nominalSeats, reservedSeats, seatsMax],
    ]),
  );
}

const level = (name: string, share: JsonObject): JsonObject => ({
  metadata: { name, uid: name },
  spec:
    name === "exempt"
      ? { type: "Exempt", exempt: share }
      : { type: "Limited", limited: { limitResponse: { type: "Reject" }, ...share } },
});

describe("the seats of priority levels", () => {
  it("are those of a kube-apiserver with the default of 600, and have no borrowing limit", () => {
    assert.deepEqual(limitsOf(bootstrapPriorityLevels, 600), {
      exempt: [0, 0, 600],
      system: [74, 50, 674],
      "node-high": [98, 73, 698],
      "leader-election": [25, 25, 625],
      "workload-high": [98, 49, 698],
      "workload-low": [245, 24, 845],
      "global-default": [49, 24, 649],
      "catch-all": [13, 13, 613],
    });
  });

  it("are shared with the exempt level when that has nominal shares", () => {
    const levels = [
      level("exempt", { nominalConcurrencyShares: 10, lendablePercent: 50 }),
      level("a", { nominalConcurrencyShares: 30 }),
    ];
    assert.deepEqual(limitsOf(levels, 100), { exempt: [25, 12, 125], a: [75, 75, 175] });
  });

  it("are borrowed up to borrowingLimitPercent, and borrowable by other levels up to lendablePercent", () => {
    const limited = (lendablePercent: number, borrowingLimitPercent: number) =>
      limitsOf(
        [
          level("a", { nominalConcurrencyShares: 5, lendablePercent, borrowingLimitPercent }),
          level("b", { nominalConcurrencyShares: 15 }),
        ],
        101,
      )["a"];
    assert.deepEqual(limited(0, 0), [26, 26, 26]);
    assert.deepEqual(limited(100, 50), [26, 0, 39]);
    assert.deepEqual(limited(25, 2), [26, 19, 27]);
    assert.deepEqual(limited(33, 400), [26, 17, 130]);
  });

  it("are 0 without nominal shares", () => {
    const levels = [level("a", { nominalConcurrencyShares: 0 }), level("b", {})];
    assert.deepEqual(limitsOf(levels, 600)["a"], [0, 0, 600]);
    assert.deepEqual(
      limitsOf([level("a", { nominalConcurrencyShares: 0 })], 600)["a"],
      [0, 0, 600],
    );
  });
});

describe("the widest request of a level", () => {
  const widest = (nominalSeats: number, handSize: number) => {
    const queuing = { queues: 64, handSize, queueLengthLimit: 50 };
    const limitResponse = { type: "Queue", queuing };
    const one = new PriorityLevel(readPriorityLevel(level("a", { limitResponse })));
    one.nominalSeats = nominalSeats;
    return one.clampSeats(10);
  };

  it("takes up to 15 percent of the level's seats, and leaves seats for a hand of queues beside it", () => {
    assert.equal(widest(245, 6), 10);
    assert.equal(widest(49, 6), 8);
    assert.equal(widest(25, 4), 4);
    assert.equal(widest(25, 20), 1);
    assert.equal(widest(0, 6), 1);
  });
});
