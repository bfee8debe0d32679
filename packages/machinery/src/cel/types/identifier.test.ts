import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { escapeProperty, unescapeProperty } from "./identifier.ts";

describe("property names as identifiers", () => {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["plain", "plain"],
    ["foo.bar", "foo__dot__bar"],
    ["foo-bar", "foo__dash__bar"],
    ["a/b", "a__slash__b"],
    ["a__b", "a__underscores__b"],
    ["a___b", "a__underscores___b"],
    ["namespace", "__namespace__"],
    ["in", "__in__"],
    ["int", "int"],
    ["_a_", "_a_"],
    ["__proto__", "__underscores__proto__underscores__"],
    ["1a", undefined],
    ["", undefined],
    ["a b", undefined],
    ["é", undefined],
    ["a$", undefined],
  ];
  for (const [name, identifier] of rows) {
    it(`${JSON.stringify(name)} is ${identifier ?? "invisible"}`, () => {
      assert.equal(escapeProperty(name), identifier);
      if (identifier !== undefined) assert.equal(unescapeProperty(identifier), name);
    });
  }

  it("refuses identifiers with escapes that mean nothing", () => {
    assert.equal(unescapeProperty("a__nothing__b"), undefined);
    assert.equal(unescapeProperty("a__in__b"), undefined);
  });

  it("come back as the names they were made from", () => {
    const name = fc.string({
      unit: fc.constantFrom("a", "B", "1", "_", ".", "-", "/"),
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(name, (property) => {
        const identifier = escapeProperty(property);
        if (identifier === undefined) return;
        assert.match(identifier, /^[A-Za-z_]\w*$/);
        assert.equal(unescapeProperty(identifier), property);
      }),
    );
  });
});
