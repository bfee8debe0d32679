/** How much of large answers leaves in a turn, with turns played by hand. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OutboundBudget } from "./budgets.ts";
import { eventLoopLimits } from "./limits.ts";

describe("the outbound budget of a turn", () => {
  const { bytesFree, bytesPerConnectionMax, bytesPerTurnMax } = eventLoopLimits.outbound;
  const turns: (() => void)[] = [];
  const budget = new OutboundBudget((callback) => turns.push(callback));

  it("has a bound for one connection", () => {
    assert.equal(budget.allows(bytesPerConnectionMax - 1), true);
    assert.equal(budget.allows(bytesPerConnectionMax), false);
  });

  it("has a bound for all, but for a little of each", () => {
    budget.spend(bytesPerTurnMax - 1);
    assert.equal(budget.allows(bytesFree), true);
    budget.spend(1);
    assert.equal(budget.allows(bytesFree), false);
    assert.equal(budget.allows(bytesFree - 1), true);
  });

  it("begins anew with each turn, and asks for none when nothing was sent", () => {
    const { turn } = budget;
    assert.equal(turns.length, 1);
    for (const play of turns.splice(0)) play();
    assert.notEqual(budget.turn, turn);
    assert.equal(budget.allows(bytesFree), true);
    assert.equal(turns.length, 0);
  });
});
