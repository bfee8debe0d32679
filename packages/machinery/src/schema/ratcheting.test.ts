import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import { compileSchema } from "./index.ts";

/** The texts of what is wrong with `spec.x`, whose schema is given, after a change from `old`. */
function check(schema: JsonObject, value: JsonValue, old: JsonValue): string[] {
  const compiled = compileSchema({
    type: "object",
    properties: { spec: { type: "object", properties: { x: schema } } },
  });
  return compiled
    .validate({ spec: { x: value } }, { old: { spec: { x: old } } })
    .map(formatFieldError);
}

describe("ratcheting", () => {
  const short = { type: "string", maxLength: 1 } as const;
  const tooLong = (path: string): string => `${path}: Too long: may not be more than 1 bytes`;

  it("forgives an unchanged value and only that", () => {
    const schema = { type: "object", properties: { a: short, b: short } };
    assert.deepEqual(check(schema, { a: "long", b: "b" }, { a: "long", b: "a" }), []);
    assert.deepEqual(check(schema, { a: "longer", b: "long" }, { a: "long", b: "long" }), [
      tooLong("spec.x.a"),
    ]);
  });

  it("forgives values of maps by key", () => {
    const schema = { type: "object", additionalProperties: short };
    assert.deepEqual(check(schema, { a: "long", b: "long" }, { a: "long" }), [tooLong("spec.x.b")]);
  });

  it("forgives items of map lists by key, wherever they moved", () => {
    const schema = {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
      items: { type: "object", properties: { k: { type: "string" }, v: short } },
    };
    const old = [
      { k: "1", v: "long" },
      { k: "2", v: "long" },
    ];
    const now = [
      { k: "2", v: "long" },
      { k: "3", v: "long" },
      { k: "1", v: "longer" },
    ];
    assert.deepEqual(check(schema, now, old), [tooLong("spec.x[1].v"), tooLong("spec.x[2].v")]);
  });

  it("forgives atomic lists as a whole only", () => {
    const schema = { type: "array", items: short };
    assert.deepEqual(check(schema, ["long"], ["long"]), []);
    assert.deepEqual(check(schema, ["long", "b"], ["long"]), [tooLong("spec.x[0]")]);
    const set = { ...schema, "x-kubernetes-list-type": "set" };
    assert.deepEqual(check(set, ["long", "b"], ["long"]), [tooLong("spec.x[0]")]);
  });

  it("does not look into alternatives", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
      allOf: [{ properties: { a: { maxLength: 1 } } }],
    };
    assert.deepEqual(check(schema, { a: "long", b: "b" }, { a: "long", b: "a" }), [
      tooLong("spec.x.a"),
      '<nil>: Invalid value: "": "spec.x" must validate all the schemas (allOf). None validated',
    ]);
  });

  it("keeps a missing field missing only where nothing else changed", () => {
    const schema = { type: "object", required: ["a"], properties: { a: short, b: short } };
    assert.deepEqual(check(schema, { b: "x" }, { b: "x" }), []);
    assert.deepEqual(check(schema, { b: "y" }, { b: "x" }), ["spec.x.a: Required value"]);
  });

  it("forgives repeated list items if the old object had any", () => {
    const schema = { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } };
    assert.deepEqual(check(schema, ["b", "b"], ["a", "a"]), []);
    assert.deepEqual(check(schema, ["b", "b"], ["a"]), ['spec.x[1]: Duplicate value: "b"']);
  });

  it("does not forgive the kind at the root", () => {
    const schema = compileSchema({
      type: "object",
      properties: { kind: { type: "string", maxLength: 1 } },
    });
    const object = { kind: "Long", a: 1 };
    assert.equal(schema.validate({ ...object, a: 2 }, { old: object }).length, 1);
  });
});
