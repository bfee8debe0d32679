import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type JsonValue, jsonEqual, parseJson } from "../json/index.ts";
import { stringifyGo } from "./go-json.ts";

describe("stringifyGo", () => {
  const rows: readonly [JsonValue, string][] = [
    [
      { b: 1, a: [null, true, 1.5, 9007199254740993n] },
      '{"a":[null,true,1.5,9007199254740993],"b":1}',
    ],
    ["<a&b>", '"\\u003ca\\u0026b\\u003e"'],
    ["\b\f\n\t\\b\\\b", '"\\u0008\\u000c\\n\\t\\\\b\\\\\\u0008"'],
    ["\u2028\u2029", '"\\u2028\\u2029"'],
    [{ "<": "é" }, '{"\\u003c":"é"}'],
  ];
  for (const [value, text] of rows) {
    it(`writes ${text}`, () => assert.equal(stringifyGo(value), text));
  }

  it("writes what the parser reads back as the same", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        assert.ok(
          jsonEqual(
            parseJson(stringifyGo(value as JsonValue)).value,
            parseJson(JSON.stringify(value)).value,
          ),
        );
      }),
    );
  });
});
