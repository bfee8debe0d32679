import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  escapeFieldValue,
  parseFieldSelector,
  SelectorSyntaxError,
  selectorRequirementsMax,
  selectorTextBytesMax,
} from "./index.ts";

const fields: ReadonlyMap<string, string> = new Map([
  ["metadata.name", "web"],
  ["spec.note", "a,b=c\\"],
]);
const fieldValue = (field: string): string => fields.get(field) ?? "";

describe("parseFieldSelector", () => {
  const cases: readonly [text: string, matches: boolean][] = [
    ["", true],
    [",,", true],
    ["=", true],
    ["metadata.name=web", true],
    ["metadata.name==web", true],
    ["metadata.name!=web", false],
    ["metadata.name=db", false],
    ["metadata.name=web,status.phase!=Active", true],
    ["metadata.name=web,status.phase=Active", false],
    ["status.phase=", true],
    ["spec.note=a\\,b\\=c\\\\", true],
  ];
  for (const [text, matches] of cases) {
    it(`${matches ? "matches" : "does not match"} with ${JSON.stringify(text)}`, () => {
      assert.equal(parseFieldSelector(text).matches(fieldValue), matches);
    });
  }

  it("shows its requirements and the values it requires", () => {
    const selector = parseFieldSelector("b!=x,a==y,c=");
    assert.deepEqual(selector.requirements, [
      { field: "a", operator: "=", value: "y" },
      { field: "b", operator: "!=", value: "x" },
      { field: "c", operator: "=", value: "" },
    ]);
    assert.equal(selector.exactValue("a"), "y");
    assert.equal(selector.exactValue("b"), undefined);
    assert.equal(selector.exactValue("c"), "");
    assert.equal(selector.isEmpty, false);
    assert.equal(parseFieldSelector("").isEmpty, true);
  });

  it("reads any escaped value back", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.constantFrom("=", "!="),
        (value, operator) => {
          const selector = parseFieldSelector(`f${operator}${escapeFieldValue(value)}`);
          assert.deepEqual(selector.requirements, [{ field: "f", operator, value }]);
          assert.deepEqual(parseFieldSelector(selector.toString()).requirements, [
            { field: "f", operator, value },
          ]);
        },
      ),
    );
  });

  const errors: readonly [text: string, message: string][] = [
    ["a", "invalid selector: 'a'; can't understand 'a'"],
    ["a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"],
    ["a=b\\c", "invalid field selector: invalid escape sequence: \\c"],
    ["a=b\\😀", "invalid field selector: invalid escape sequence: \\😀"],
    ["a=b\\", "invalid field selector: invalid escape sequence: \\"],
    ["a=b=c", "invalid field selector: unescaped character in value: 61"],
  ];
  for (const [text, message] of errors) {
    it(`refuses ${JSON.stringify(text)} in the words of Kubernetes`, () => {
      assert.throws(() => parseFieldSelector(text), { name: "SelectorSyntaxError", message });
    });
  }

  it("takes as many requirements as allowed and not one more", () => {
    const full = Array.from({ length: selectorRequirementsMax }, (_, i) => `k${i}=`).join(",");
    assert.equal(parseFieldSelector(full).requirements.length, selectorRequirementsMax);
    assert.throws(() => parseFieldSelector(`${full},x=`), SelectorSyntaxError);
  });

  it("takes as many bytes as allowed and not one more", () => {
    const full = `a=${"é".repeat((selectorTextBytesMax - 2) / 2)}`;
    assert.equal(parseFieldSelector(full).isEmpty, false);
    assert.throws(() => parseFieldSelector(`${full}x`), SelectorSyntaxError);
  });
});
