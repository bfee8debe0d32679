import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isJsonObject, type JsonValue, parseJson, setMember } from "@kcp-ts/machinery/json";
import fc from "fast-check";
import { MemberPicker, type MemberTree } from "./member-picker.ts";
import { NonInterningParser } from "./non-interning-parser.ts";

const encoder = new TextEncoder();
const tree: MemberTree = { a: true, b: { a: true, é: { b: true } }, empty: {} };
const string = fc.oneof(
  fc.constantFrom("a", "b", "é", "empty", "__proto__", "other", "aa", ""),
  fc.string({ unit: "binary", maxLength: 4 }),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: "small" },
    string,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false, "]}", '{"a', "\\", '\\"'),
    fc.array(tie("any"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc.array(fc.tuple(string, tie("any")), { maxLength: 6 }).map((members) => {
    const object: { [key: string]: JsonValue } = {};
    for (const [key, one] of members) setMember(object, key, one as JsonValue);
    return object;
  }),
}));

/** The same, from the fully parsed value. */
function picked(object: JsonValue, wanted: MemberTree): JsonValue {
  if (!isJsonObject(object)) return object;
  const result: { [key: string]: JsonValue } = {};
  for (const [key, one] of Object.entries(object)) {
    if (!Object.hasOwn(wanted, key)) continue;
    const part = wanted[key] as true | MemberTree;
    setMember(result, key, part === true ? one : picked(one, part));
  }
  return result;
}

describe("a member picker", () => {
  it("cuts out the same members as parsing the full value, for any content around them", () => {
    const picker = new MemberPicker(tree);
    const property = fc.property(
      value.object,
      fc.constantFrom(undefined, 1, "\t"),
      (object, space) => {
        // Through JSON, which has only one zero.
        const json = JSON.parse(JSON.stringify(object)) as JsonValue;
        const text = picker.pick(encoder.encode(JSON.stringify(json, undefined, space)));
        const isEscaped = JSON.stringify(json).includes("\\");
        assert.ok(text !== undefined || isEscaped, "only names with escapes are left to others");
        if (text !== undefined) assert.deepEqual(JSON.parse(text), picked(json, tree));
      },
    );
    fc.assert(property, { numRuns: 1000 });
  });

  it("returns nothing for a text that is not one object", () => {
    const picker = new MemberPicker(tree);
    const texts = [
      "",
      " ",
      "1",
      '"a"',
      "[]",
      "{",
      '{"a"',
      '{"a":',
      '{"a":1',
      '{"a":1,',
      '{"a":1,}',
    ];
    texts.push('{"a":1}}', '{"a":1}x', '{"a":"x}', '{"x":[}', '{"x":{"y":"z}', "{a:1}", '{"a" 1}');
    texts.push('{"\\u0061":1}', '{"x":}', '{"a":1 "b":2}');
    for (const text of texts) assert.equal(picker.pick(encoder.encode(text)), undefined, text);
  });

  it("picks long objects and then short ones", () => {
    const picker = new MemberPicker(tree);
    const long = "x".repeat(200_000);
    assert.equal(picker.pick(encoder.encode(`{"a":"${long}"}`)), `{"a":"${long}"}`);
    assert.equal(picker.pick(encoder.encode('{"a": 1, "c": 2}')), '{"a":1}');
  });
});

describe("the non-interning parser", () => {
  it("returns the same as the other parser, whatever it has parsed before", () => {
    const parser = new NonInterningParser();
    const property = fc.property(value.any, fc.constantFrom(undefined, 2), (one, space) => {
      const text = JSON.stringify(one, undefined, space);
      assert.deepEqual(parser.parse(text), parseJson(text).value);
      assert.deepEqual(parser.parse(text), parseJson(text).value);
    });
    fc.assert(property, { numRuns: 1000 });
  });

  it("does not confuse a string with its prefix", () => {
    const parser = new NonInterningParser();
    for (const text of ['["web"]', '["web-1"]', '["web"]', '[""]', '["w"]'])
      assert.deepEqual(parser.parse(text), JSON.parse(text));
  });

  it("rejects what JSON.parse rejects", () => {
    const parser = new NonInterningParser();
    const texts = ["", "{", '{"a":tru}', "[1,]", '"a', '{"a":1}x', '"\n"', "nul", '{"a":true,}'];
    for (const text of texts) {
      assert.throws(() => JSON.parse(text), text);
      assert.throws(() => parser.parse(text), { name: "JsonSyntaxError" }, text);
    }
  });

  it("keeps integers beyond 2^53, and parses deeply nested values", () => {
    const parser = new NonInterningParser();
    assert.equal(parser.parse("9007199254740993"), 9007199254740993n);
    const deep = `${"[".repeat(500)}${"]".repeat(500)}`;
    assert.deepEqual(parser.parse(deep), JSON.parse(deep));
    assert.throws(() => parser.parse("[".repeat(100_000)), { name: "JsonSyntaxError" });
  });
});
