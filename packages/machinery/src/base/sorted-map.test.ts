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
        fc.nat(10),
        (steps, prefix, after, countMax) => {
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
          const values = expected.map(([, value]) => value);
          assert.deepEqual(sorted.slice(prefix, after), values);
          assert.deepEqual(sorted.slice(prefix, after, countMax), values.slice(0, countMax));
          assert.equal(sorted.size, plain.size);
          for (const [key, value] of plain) assert.equal(sorted.get(key), value);
        },
      ),
    );
  });

  it("gives slices over many chunks, which what comes later does not change", () => {
    const map = new SortedMap<number>();
    for (let i = 0; i < 5000; i++) map.set(String(i).padStart(4, "0"), i);
    const all = map.slice("");
    assert.deepEqual(all, [...all.keys()]);
    assert.deepEqual(map.slice("1", "1499", 1000), all.slice(1500, 2000));
    assert.deepEqual(map.slice("1", "1499", 300), all.slice(1500, 1800));
    map.delete("0000");
    map.set("0001", -1);
    assert.deepEqual(all.slice(0, 2), [0, 1]);
    assert.deepEqual(map.slice("").slice(0, 1), [-1]);
  });

  it("keeps order across chunk splits", () => {
    const map = new SortedMap<number>();
    for (let i = 0; i < 5000; i++) map.set(String((i * 7919) % 5000).padStart(4, "0"), i);
    const keys = [...map.range("")].map(([key]) => key);
    assert.deepEqual(keys, [...keys].sort());
    assert.equal(keys.length, 5000);
  });
});
