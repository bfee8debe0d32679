import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SortedMap } from "./sorted-map.ts";

const word = fc.string({ unit: fc.constantFrom("a", "b", "/", "-"), maxLength: 5 });

describe("SortedMap", () => {
  it("agrees with a plain map that is sorted on every look", () => {
    const step = fc.record({ key: word, remove: fc.boolean() });
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 200 }),
        word,
        fc.option(word, { nil: undefined }),
        (steps, prefix, after) => {
          const sorted = new SortedMap<number>();
          const plain = new Map<string, number>();
          for (const [i, { key, remove }] of steps.entries()) {
            if (remove) assert.equal(sorted.delete(key), plain.delete(key));
            else {
              sorted.set(key, i);
              plain.set(key, i);
            }
          }
          const expected = [...plain]
            .filter(([key]) => key.startsWith(prefix) && (after === undefined || key > after))
            .sort(([a], [b]) => (a < b ? -1 : 1));
          assert.deepEqual([...sorted.range(prefix, after)], expected);
          assert.equal(sorted.countRange(prefix, after), expected.length);
          assert.equal(sorted.size, plain.size);
          for (const [key, value] of plain) assert.equal(sorted.get(key), value);
        },
      ),
    );
  });

  it("keeps order across chunk splits", () => {
    const map = new SortedMap<number>();
    for (let i = 0; i < 5000; i++) map.set(String((i * 7919) % 5000).padStart(4, "0"), i);
    const keys = [...map.range("")].map(([key]) => key);
    assert.deepEqual(keys, [...keys].sort());
    assert.equal(keys.length, 5000);
  });
});
