import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import { ObjectTable } from "./object-table.ts";

interface Thing {
  readonly name: string;
  readonly size: number | bigint;
}

describe("an object table", () => {
  for (const liveMax of [0, 3, Number.POSITIVE_INFINITY]) {
    it(`agrees with a map, ${liveMax} of its objects live`, () => {
      const random = new SeededRandom(liveMax === 3 ? 3 : 4);
      const table = new ObjectTable<Thing>(liveMax);
      const model = new Map<string, Thing>();
      for (let i = 0; i < 2000; i++) {
        const name = `n${random.integer(12)}`;
        if (random.chance(0.3)) assert.equal(table.delete(name), model.delete(name));
        else {
          const thing = { name, size: random.chance(0.1) ? 2n ** 60n + BigInt(i) : i };
          if (random.chance(0.5)) table.set(name, thing);
          else table.setRecent(name, thing);
          model.set(name, thing);
        }
        assert.deepEqual(table.get(name), model.get(name));
        assert.equal(table.has(name), model.has(name));
        assert.equal(table.size, model.size);
      }
      const byKey = (a: [string, Thing], b: [string, Thing]) => (a[0] < b[0] ? -1 : 1);
      assert.deepEqual([...table.entries()].sort(byKey), [...model].sort(byKey));
      assert.deepEqual([...table.keys()].sort(), [...model.keys()].sort());
    });
  }

  it("returns the identical object for live ones, and equal ones for packed ones", () => {
    const table = new ObjectTable<Thing>(1);
    const first = { name: "a", size: 1 };
    table.set("a", first);
    table.set("b", { name: "b", size: 2 });
    assert.equal(table.get("a"), first);
    assert.notEqual(table.get("b"), table.get("b"));
    assert.deepEqual(table.get("b"), { name: "b", size: 2 });
  });

  it("returns the identical object for a packed one that has just changed, of few and short ones", () => {
    const table = new ObjectTable<Thing>(0);
    const changed = { name: "a", size: 2 };
    table.set("a", { name: "a", size: 1 });
    table.setRecent("a", changed);
    assert.equal(table.get("a"), changed);
    const long = { name: "x".repeat(20_000), size: 1 };
    table.setRecent("long", long);
    assert.notEqual(table.get("long"), long);
    for (let n = 0; n < 64; n++) table.setRecent(`n${n}`, { name: `n${n}`, size: n });
    assert.notEqual(table.get("a"), changed);
    assert.deepEqual(table.get("a"), changed);
    table.set("n63", { name: "n63", size: 0 });
    assert.deepEqual(table.get("n63"), { name: "n63", size: 0 });
  });

  it("adopts objects of another table, and distinguishes them from changed ones", () => {
    const before = new ObjectTable<Thing>(1);
    for (const name of ["a", "b", "c"]) before.set(name, { name, size: 1 });
    const next = new ObjectTable<Thing>(1);
    next.set("c", { name: "c", size: 2 });
    for (const name of ["a", "b"]) next.adopt(name, before);
    assert.equal(next.get("a"), before.get("a"));
    assert.deepEqual(
      ["a", "b", "c", "d"].map((name) => next.isSameIn(before, name)),
      [true, true, false, false],
    );
    assert.equal(next.size, 3);
  });
});
