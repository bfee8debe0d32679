/** Long texts with the resumable parser, with steps so short that every text is a long one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { runSync } from "../base/index.ts";
import { JsonSyntaxError, type JsonValue, jsonEqual, parseJson, parseResumable } from "./index.ts";
import { parseLong } from "./parse-long.ts";
import { parseLosslessResumable } from "./parse-lossless.ts";

/** JSON with space in it, large integers, strange keys and members that stand twice. */
const json = fc.letrec<{ value: string; object: string; array: string }>((tie) => {
  const space = fc.constantFrom("", "", "", " ", "\n\t");
  const scalar = fc.oneof(
    fc.string().map((text) => JSON.stringify(text)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => JSON.stringify(number)),
    fc.constantFrom("null", "true", "false", "0", "-1.5e3", "9007199254740993", '"\\""', '"\\\\"'),
  );
  const key = fc.oneof(fc.constantFrom("a", "b", "0", "1", "__proto__", "]}"), fc.string());
  const spaced = (open: string, close: string, entries: fc.Arbitrary<string[]>) =>
    fc.tuple(entries, space, space).map(([all, before, after]) => {
      return `${open}${before}${all.join(`${before},${after}`)}${after}${close}`;
    });
  const member = fc
    .tuple(key, space, tie("value"))
    .map(([name, gap, value]) => `${JSON.stringify(name)}${gap}:${gap}${value}`);
  return {
    value: fc.oneof({ depthSize: "small" }, scalar, tie("object"), tie("array")),
    object: spaced("{", "}", fc.array(member, { maxLength: 6 })),
    array: spaced("[", "]", fc.array(tie("value"), { maxLength: 6 })),
  };
});
const container = fc.oneof(json.object, json.array);
const limits = fc.record({
  chars: fc.integer({ min: 1, max: 40 }),
  members: fc.integer({ min: 1, max: 4 }),
});

function parsed(text: string): { value: JsonValue; duplicates: readonly string[] } | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}

describe("a long text", () => {
  it("has the same value with the resumable parser as with the synchronous one, its members in the same order", () => {
    fc.assert(
      fc.property(container, limits, (text, pieces) => {
        const { value, duplicates } = parseJson(text);
        const found = runSync(parseLong(text, parseJson, pieces));
        if (duplicates.length > 0) assert.equal(found, undefined);
        else {
          assert.ok(found !== undefined && jsonEqual(found, value));
          assert.deepEqual(found, value);
          assert.deepEqual(orderOf(found), orderOf(value));
        }
      }),
      { numRuns: 300 },
    );
  });

  it("is given up when the name of a long member is wrong", () => {
    for (const name of ['"\\}"', '"\n"', '"\\u00"']) {
      const text = `{"a": 1, ${name}: ["${"v".repeat(100)}"]}`;
      assert.equal(parsed(text), undefined);
      assert.equal(runSync(parseLong(text, parseJson, { chars: 10, members: 1 })), undefined);
    }
  });

  it("that is wrong somewhere is never taken for right", () => {
    const wrong = fc.tuple(container, fc.nat(), fc.constantFrom("", ",", "}", "]", "{", '"', "x"));
    fc.assert(
      fc.property(wrong, limits, ([text, at, put], pieces) => {
        const position = at % text.length;
        const changed = text.slice(0, position) + put + text.slice(position + 1);
        const whole = parsed(changed);
        const found = runSync(parseLong(changed, parseJson, pieces));
        if (found === undefined) return;
        assert.ok(whole !== undefined, changed);
        assert.deepEqual(found, whole.value);
      }),
      { numRuns: 700 },
    );
  });

  it("rests after every few kilobytes, wherever they are", () => {
    const data = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, i) => [`key-${i}`, "v".repeat(100)]),
    );
    const nested = { a: [{ b: { c: data } }] };
    for (const value of [data, nested, { list: Object.values(data) }]) {
      const text = JSON.stringify(value);
      let longest = 0;
      const measuring = (part: string) => {
        longest = Math.max(longest, part.length);
        return parseJson(part);
      };
      const work = parseLong(text, measuring);
      let pieces = 1;
      let step = work.next();
      for (; step.done !== true; step = work.next()) pieces++;
      assert.deepEqual(step.value, value);
      assert.ok(longest < 17 << 10, `${longest} characters at once`);
      assert.ok(pieces >= text.length / (17 << 10), `${pieces} pieces`);
    }
  });

  it("is read in many pieces also when members stand twice or it is no JSON", () => {
    const items = Array.from({ length: 20_000 }, (_, i) => `{"a":${i}}`).join();
    for (const text of [`{"l":[${items}],"a":1,"a":2}`, `{"l":[${items}],}`, `{"l":[${items}`]) {
      const work = parseResumable(text);
      let pieces = 0;
      try {
        while (work.next().done !== true) pieces++;
      } catch (error) {
        assert.equal((error as Error).name, "JsonSyntaxError");
      }
      assert.ok(pieces > 100, `${pieces} pieces`);
    }
  });

  it("leaves a number of a million digits to the parser that rests around it", () => {
    for (const number of [`1.${"9".repeat(1_000_000)}`, "9".repeat(300_000)]) {
      const text = `{"a":1,"n":${number},"b":[2]}`;
      let longest = 0;
      const measuring = (part: string) => {
        longest = Math.max(longest, part.length);
        return parseJson(part);
      };
      assert.equal(runSync(parseLong(text, measuring)), undefined);
      assert.ok(longest < 17 << 10, `${longest} characters at once`);
      const work = parseLosslessResumable(text);
      assert.equal(work.next().done, false, "a rest between two looks at the number");
      if (number.startsWith("9")) assert.throws(() => runSync(work), /cannot unmarshal number 999/);
      else assert.deepEqual(runSync(work).value, { a: 1, n: 2, b: [2] });
    }
  });

  it("is read in many pieces however deep it is", () => {
    const work = parseResumable(
      `${"[".repeat(900)}${Array(20_000).fill(1).join()}${"]".repeat(900)}`,
    );
    let pieces = 0;
    while (work.next().done !== true) pieces++;
    assert.ok(pieces > 900, `${pieces} pieces`);
  });

  it("is refused in the same words as at once", () => {
    const filler = `"x":"${"v".repeat(40_000)}",`;
    const texts = [`{${filler}"a":1,}`, `{${filler}"a":tru}`, `{${filler}"a":1} x`, `{${filler}`];
    for (const text of texts) {
      const error = (parse: () => unknown) => {
        try {
          parse();
        } catch (thrown) {
          return String(thrown);
        }
        return assert.fail("it was taken");
      };
      assert.equal(
        error(() => runSync(parseResumable(text))),
        error(() => parseJson(text)),
      );
    }
    const twice = `{${filler}"a":1,"b":{"c":1,"c":2},"a":2}`;
    assert.deepEqual(runSync(parseResumable(twice)), parseJson(twice));
  });
});

function orderOf(value: JsonValue): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).map(([key, each]) => [key, orderOf(each as JsonValue)]);
}
