import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  cloneJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
} from "../json/index.ts";
import { applyMergePatch, isPatchError } from "./index.ts";

describe("applyMergePatch", () => {
  // The examples of RFC 7386, appendix A, that stay within objects.
  const rows: readonly [JsonObject, JsonObject, JsonObject][] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: 1 }, { a: { b: null, c: 2 } }, { a: { c: 2 } }],
    [{ a: null }, { a: { b: null, c: 2 } }, { a: { c: 2 } }],
    [{}, { a: [null, { b: null }] }, { a: [null, { b: null }] }],
  ];
  for (const [document, patch, expected] of rows) {
    it(`merges ${JSON.stringify(patch)} into ${JSON.stringify(document)}`, () => {
      assert.deepEqual(applyMergePatch(document, patch), expected);
    });
  }

  it("keeps the order of members and appends new ones", () => {
    assert.deepEqual(Object.keys(applyMergePatch({ b: 1, a: 2, c: 3 }, { d: 1, a: 3, b: null })), [
      "a",
      "c",
      "d",
    ]);
  });

  it("refuses a patch that is not an object as malformed", () => {
    for (const patch of [null, 1, "x", [], true]) {
      assert.throws(
        () => applyMergePatch({}, patch),
        (error) => {
          assert.ok(isPatchError(error, "malformed"));
          assert.equal(error.message, "Invalid JSON Patch");
          return true;
        },
      );
    }
  });

  it("sets __proto__ as a plain member", () => {
    const patch = JSON.parse('{"__proto__":{"polluted":true},"x":{"__proto__":null}}') as JsonValue;
    const merged = applyMergePatch({}, patch);
    assert.deepEqual(Object.keys(merged), ["__proto__", "x"]);
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  });
});

describe("a merge patch made from two documents without nulls", () => {
  const object = fc.object({
    key: fc.constantFrom("a", "b", "c", "__proto__", "constructor"),
    values: [fc.integer(), fc.string(), fc.boolean()],
    maxDepth: 4,
  }) as fc.Arbitrary<{ [key: string]: JsonValue }>;

  it("turns the first into the second and leaves both alone", () => {
    fc.assert(
      fc.property(object, object, (from, to) => {
        const before = cloneJson(from);
        assert.ok(jsonEqual(applyMergePatch(from, mergeDiff(from, to)), to));
        assert.deepEqual(from, before);
      }),
    );
  });

  function mergeDiff(from: JsonObject, to: JsonObject): JsonObject {
    const members: [string, JsonValue][] = [];
    for (const key of Object.keys(from)) if (!Object.hasOwn(to, key)) members.push([key, null]);
    for (const key of Object.keys(to)) {
      const [a, b] = [Object.hasOwn(from, key) ? from[key] : undefined, to[key] as JsonValue];
      if (isJsonObject(a) && isJsonObject(b)) members.push([key, mergeDiff(a, b)]);
      else if (!jsonEqual(a, b)) members.push([key, b]);
    }
    return Object.fromEntries(members);
  }
});
