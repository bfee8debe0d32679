/** How much of large answers leaves in a turn, with turns played by hand. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Outlet, outletLimits } from "./outlet.ts";

describe("the outlet of a turn", () => {
  const { bytesFree, bytesPerConnectionMax, bytesPerTurnMax } = outletLimits;
  const turns: (() => void)[] = [];
  const outlet = new Outlet((callback) => turns.push(callback));

  it("has a bound for one connection", () => {
    assert.equal(outlet.allows(bytesPerConnectionMax - 1), true);
    assert.equal(outlet.allows(bytesPerConnectionMax), false);
  });

  it("has a bound for all, but for a little of each", () => {
    outlet.spend(bytesPerTurnMax - 1);
    assert.equal(outlet.allows(bytesFree), true);
    outlet.spend(1);
    assert.equal(outlet.allows(bytesFree), false);
    assert.equal(outlet.allows(bytesFree - 1), true);
  });

  it("begins anew with each turn, and asks for none when nothing was sent", () => {
    const { turn } = outlet;
    assert.equal(turns.length, 1);
    for (const play of turns.splice(0)) play();
    assert.notEqual(outlet.turn, turn);
    assert.equal(outlet.allows(bytesFree), true);
    assert.equal(turns.length, 0);
  });
});
