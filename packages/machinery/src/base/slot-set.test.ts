import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SlotSet } from "./slot-set.ts";

describe("a SlotSet", () => {
  it("keeps its members in the order of insertion when other members are removed", () => {
    const roster = new SlotSet<string>();
    const [leaveA, leaveB, , leaveD] = ["a", "b", "c", "d"].map((name) => roster.add(name));
    leaveB?.();
    leaveD?.();
    leaveB?.();
    assert.equal(roster.size, 2);
    const leaveE = roster.add("e");
    assert.deepEqual([roster.shift(), roster.shift()], ["a", "c"]);
    leaveA?.();
    leaveE();
    assert.deepEqual([roster.shift(), roster.size], [undefined, 0]);
  });

  it("is as it was when everybody has left", () => {
    const roster = new SlotSet<number>();
    for (const leave of [1, 2, 3].map((one) => roster.add(one))) leave();
    roster.add(4);
    assert.deepEqual([roster.shift(), roster.shift(), roster.size], [4, undefined, 0]);
  });
});
