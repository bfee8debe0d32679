/** The bytes of large responses that are sent in a turn; the test advances the turns. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OutboundBudget } from "./budgets.ts";
import { eventLoopLimits } from "./limits.ts";

describe("the outbound budget of a turn", () => {
  const { bytesFree, bytesPerConnectionMax, bytesPerTurnMax } = eventLoopLimits.outbound;
  const turns: (() => void)[] = [];
  const budget = new OutboundBudget((callback) => turns.push(callback));

  it("limits the bytes of one connection", () => {
    assert.equal(budget.allows(bytesPerConnectionMax - 1), true);
    assert.equal(budget.allows(bytesPerConnectionMax), false);
  });

  it("limits the bytes of all connections, except a small allowance of each", () => {
    budget.spend(bytesPerTurnMax - 1);
    assert.equal(budget.allows(bytesFree), true);
    budget.spend(1);
    assert.equal(budget.allows(bytesFree), false);
    assert.equal(budget.allows(bytesFree - 1), true);
  });

  it("is renewed in each turn, and schedules no turn when no bytes were sent", () => {
    const { turn } = budget;
    assert.equal(turns.length, 1);
    for (const play of turns.splice(0)) play();
    assert.notEqual(budget.turn, turn);
    assert.equal(budget.allows(bytesFree), true);
    assert.equal(turns.length, 0);
  });
});
