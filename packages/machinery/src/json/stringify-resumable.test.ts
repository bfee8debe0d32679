import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "../base/index.ts";
import { stringifyResumable } from "./stringify-resumable.ts";
import { type JsonObject, type JsonValue, setMember, stringifyJson } from "./value.ts";

const names = ["a", "7", "12", "__proto__", "ü\n", "b", "", "constructor"];

type Below = (limit: number) => number;

/** Numbers that look random and are the same for the same seed. */
function belowOf(seed: number): Below {
  let state = seed + 1;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

function madeValue(below: Below, depth: number): JsonValue {
  const scalars = [null, true, -0.5, 12345678901234567890n, 'a "quote"\u2028', "", 1e21];
  const kind = depth === 0 ? 2 : below(3);
  if (kind === 2) return scalars[below(scalars.length)] as JsonValue;
  const size = below(5) === 0 ? below(600) : below(6);
  const child = () => madeValue(below, size > 50 ? Math.min(1, depth - 1) : depth - 1);
  if (kind === 1) return Array.from({ length: size }, child);
  const object: JsonObject = {};
  for (let i = 0; i < size; i++)
    setMember(object, i < names.length ? (names[i] as string) : `n${i}`, child());
  return object;
}

describe("the resumable JSON writer", () => {
  it("is that of the whole, for values of any form", () => {
    let large = 0;
    for (let seed = 0; seed < 300; seed++) {
      const value = madeValue(belowOf(seed), 5);
      const whole = stringifyJson(value);
      if (whole.length > 2000) large++;
      assert.equal(runSync(stringifyResumable(value)), whole, `seed ${seed}`);
    }
    assert.ok(large > 50, `${large} large ones`);
  });

  it("leaves out what is not there", () => {
    const data = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`k${i}`, "v"]));
    const value = { a: undefined, data } as unknown as JsonValue;
    assert.equal(runSync(stringifyResumable(value)), JSON.stringify(value));
  });

  it("writes sets of any names", () => {
    const odd = ['","', '"', "\\", '\\","', ",", "{}", '":{},"', "__proto__", "7", ""];
    const names = [...odd, ...Array.from({ length: 300 }, (_, i) => `f:k${i}`), "a,b"];
    const set: JsonObject = {};
    for (const name of names) setMember(set, name, {});
    const value = { set, mixed: { ...set, a: 1, b: {}, c: {}, d: [], e: "x", f: {} } };
    assert.equal(runSync(stringifyResumable(value)), JSON.stringify(value));
  });

  it("rests between pieces that are short", () => {
    const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, "v"]));
    const work = stringifyResumable({ data });
    let rests = 0;
    while (work.next().done !== true) rests++;
    assert.ok(rests >= 40, `${rests} rests`);
  });
});
