/** Every rule by example: what may change, what narrows, what cannot be. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "../base/index.ts";
import type { JsonObject } from "../json/index.ts";
import { readSchema, type SchemaProps, schemaToJson } from "../schema/index.ts";
import { compareSchemas, findingsMax } from "./index.ts";

const string = { type: "string" };
const object = (properties: JsonObject, more: JsonObject = {}) => ({
  type: "object",
  properties,
  ...more,
});
const array = (items: JsonObject, more: JsonObject = {}) => ({ type: "array", items, ...more });
const preserve = { "x-kubernetes-preserve-unknown-fields": true };
const intOrString = { "x-kubernetes-int-or-string": true };

type Case = readonly [title: string, existing: JsonObject, next: JsonObject];

describe("what is welcome as it is", () => {
  const cases: Case[] = [
    ["whole numbers where numbers are", { type: "integer" }, { type: "number" }],
    ["whole numbers where int-or-string is", { type: "integer" }, intOrString],
    ["texts where int-or-string is", string, intOrString],
    ["anything at all", object({ a: string }), preserve],
    ["a wider range", { type: "integer", minimum: 1, maximum: 5 }, { type: "integer", maximum: 9 }],
    ["a shorter text", { ...string, maxLength: 3 }, { ...string, maxLength: 4 }],
    ["fewer values", { ...string, enum: ["a"] }, { ...string, enum: ["b", "a"] }],
    ["values of an open list", { ...string, enum: ["a"] }, string],
    [
      "the same enum of numbers",
      { type: "integer", enum: [1, 2] },
      { type: "integer", enum: [1, 2] },
    ],
    ["new fields", object({ a: string }), object({ a: string, b: string })],
    [
      "new required fields with a default",
      object({ a: string }),
      object({ a: string, b: { ...string, default: "x" } }, { required: ["b"] }),
    ],
    ["fields of a map", object({ a: string }), { type: "object", additionalProperties: string }],
    [
      "a map of narrower values",
      { type: "object", additionalProperties: { ...string, maxLength: 1 } },
      { type: "object", additionalProperties: string },
    ],
    ["less of what must be", object({ a: string }, { required: ["a"] }), object({ a: string })],
    ["null where it may be", string, { ...string, nullable: true }],
    ["fields that are kept now", object({ a: string }), object({ a: string }, preserve)],
    [
      "multiples of multiples",
      { type: "integer", multipleOf: 6 },
      { type: "integer", multipleOf: 3 },
    ],
    [
      "smaller integers",
      { type: "integer", format: "int32" },
      { type: "integer", format: "int64" },
    ],
    ["other words", { ...string, description: "one" }, { ...string, description: "other" }],
    ["one rule less", { ...string, "x-kubernetes-validations": [{ rule: "self != ''" }] }, string],
  ];
  for (const [title, existing, next] of cases) {
    it(title, () => {
      const { verdict: result, common, findings } = compare(existing, next);
      assert.deepEqual([result, findings], ["compatible", []]);
      assert.deepEqual(common, schemaToJson(read(existing)));
    });
  }
});

describe("what narrows", () => {
  const cases: [...Case, common: JsonObject, path: string, message: RegExp][] = [
    [
      "numbers to whole ones",
      { type: "number" },
      { type: "integer" },
      { type: "integer" },
      "",
      /was "number", now "integer"/,
    ],
    ["int-or-string to texts", intOrString, string, string, "", /was "int-or-string"/],
    [
      "anything to something",
      object({ a: preserve }),
      object({ a: string }),
      object({ a: string }),
      ".a",
      /anything was allowed/,
    ],
    [
      "a range",
      { type: "integer", maximum: 9 },
      { type: "integer", maximum: 5, minimum: 1 },
      { type: "integer", maximum: 5, minimum: 1 },
      "",
      /at most 5/,
    ],
    [
      "an open end",
      { type: "number", maximum: 5 },
      { type: "number", maximum: 5, exclusiveMaximum: true },
      { type: "number", maximum: 5, exclusiveMaximum: true },
      "",
      /at most 5/,
    ],
    [
      "an enum",
      { ...string, enum: ["a", "b"] },
      { ...string, enum: ["b", "c"] },
      { ...string, enum: ["b"] },
      "",
      /\["a"\] are not allowed/,
    ],
    [
      "any text to an enum",
      string,
      { ...string, enum: ["b"] },
      { ...string, enum: ["b"] },
      "",
      /only \["b"\]/,
    ],
    [
      "two patterns to both",
      { ...string, pattern: "^a" },
      { ...string, pattern: "b$" },
      { ...string, pattern: "^a", allOf: [{ pattern: "b$" }] },
      "",
      /b\$/,
    ],
    [
      "a removed field",
      object({ a: string, b: string }),
      object({ a: string }),
      object({ a: string }),
      ".b",
      /not known/,
    ],
    [
      "a field that must be there",
      object({ a: string }),
      object({ a: string }, { required: ["a"] }),
      object({ a: string }, { required: ["a"] }),
      ".a",
      /required now/,
    ],
    [
      "a map to fields",
      { type: "object", additionalProperties: string },
      object({ a: string }),
      object({ a: string }),
      "",
      /not listed are dropped/,
    ],
    ["null", { ...string, nullable: true }, string, string, "", /null/],
    [
      "a default that went",
      { ...string, enum: ["a", "b"], default: "a" },
      { ...string, enum: ["b"] },
      { ...string, enum: ["b"] },
      "",
      /the default "a"/,
    ],
    [
      "items",
      array({ type: "number" }),
      array({ type: "integer" }),
      array({ type: "integer" }),
      "[]",
      /was "number"/,
    ],
    [
      "fewer items",
      array(string),
      array(string, { maxItems: 2 }),
      array(string, { maxItems: 2 }),
      "",
      /maxItems is 2/,
    ],
    [
      "more conditions",
      { type: "integer" },
      { type: "integer", not: { enum: [0] } },
      { type: "integer", allOf: [{ not: { enum: [0] } }] },
      "",
      /conditions/,
    ],
    [
      "what is kept to what is listed",
      object({}, preserve),
      object({ a: string }),
      object({ a: string }),
      "",
      /not listed/,
    ],
  ];
  for (const [title, existing, next, expected, path, message] of cases) {
    it(title, () => {
      const { verdict: result, common, findings } = compare(existing, next);
      assert.equal(result, "narrowable");
      assert.deepEqual(common, schemaToJson(read(expected)));
      const found = findings.find((each) => each.path === path && message.test(each.message));
      assert.ok(found?.kind === "narrower", JSON.stringify(findings));
    });
  }
});

describe("what cannot be", () => {
  const cases: [...Case, path: string, message: RegExp][] = [
    [
      "another type",
      object({ a: string }),
      object({ a: { type: "integer" } }),
      ".a",
      /The type changed \(was "string", now "integer"\)/,
    ],
    [
      "ranges apart",
      { type: "integer", maximum: 1 },
      { type: "integer", minimum: 2 },
      "",
      /nothing is at least 2 and at most 1/,
    ],
    ["enums apart", { ...string, enum: ["a"] }, { ...string, enum: ["b"] }, "", /no value/],
    ["formats apart", { ...string, format: "date" }, { ...string, format: "byte" }, "", /formats/],
    [
      "a required field that was not known",
      object({ a: string }),
      object({ a: string, b: string }, { required: ["b"] }),
      ".b",
      /required now/,
    ],
    [
      "a required field that is not known",
      object({ a: string, b: string }, { required: ["b"] }),
      object({ a: string }),
      ".b",
      /required/,
    ],
    ["no field in common", object({ a: string }), object({ b: string }), "", /no field/],
    [
      "another way to merge a list",
      array(string, { "x-kubernetes-list-type": "set" }),
      array(string),
      "",
      /list-type/,
    ],
    [
      "other keys of a list",
      array(object({ a: string, b: string }, { required: ["a", "b"] }), {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a"],
      }),
      array(object({ a: string, b: string }, { required: ["a", "b"] }), {
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["b"],
      }),
      "",
      /map-keys/,
    ],
    [
      "another way to merge a map",
      object({ a: string }),
      object({ a: string }, { "x-kubernetes-map-type": "atomic" }),
      "",
      /map-type/,
    ],
    [
      "another rule",
      string,
      { ...string, "x-kubernetes-validations": [{ rule: "self != ''" }] },
      "",
      /cannot be compared: self/,
    ],
    [
      "a rule over a field that went",
      object({ a: string, b: string }, { "x-kubernetes-validations": [{ rule: "has(self.b)" }] }),
      object({ a: string }),
      "",
      /dropped/,
    ],
    [
      "conditions on fields",
      object({ a: string }),
      object({ a: string }, { anyOf: [{ required: ["a"] }] }),
      "",
      /conditions/,
    ],
    [
      "multiples apart",
      { type: "integer", multipleOf: 2 },
      { type: "integer", multipleOf: 3 },
      "",
      /multiples/,
    ],
  ];
  for (const [title, existing, next, path, message] of cases) {
    it(title, () => {
      const { verdict: result, common, findings } = compare(existing, next);
      assert.deepEqual([result, common], ["incompatible", undefined]);
      const found = findings.some((each) => each.path === path && message.test(each.message));
      assert.ok(found, JSON.stringify(findings));
    });
  }
});

it("names are data, whatever they are", () => {
  const properties = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"string"}}');
  const { verdict: result } = compare(object(properties), object({ constructor: string }));
  assert.equal(result, "narrowable");
});

it("findings are bounded, and what was not listed still counts", () => {
  const fields = (type: string) =>
    Object.fromEntries(Array.from({ length: findingsMax + 1 }, (_, i) => [`f${i}`, { type }]));
  const narrowed = fields("integer");
  const { verdict: result, findings } = compare(object(fields("number")), object(narrowed));
  assert.deepEqual([result, findings.length], ["narrowable", findingsMax]);
  const last = { ...narrowed, [`f${findingsMax}`]: string };
  const blocked = compare(object(fields("number")), object(last));
  assert.deepEqual(
    [blocked.verdict, blocked.findings.map(({ path }) => path)],
    ["incompatible", [`.f${findingsMax}`]],
  );
});

function compare(existing: JsonObject, next: JsonObject) {
  const { verdict: result, common, findings } = runSync(compareSchemas(read(existing), read(next)));
  return {
    verdict: result,
    findings,
    common: common === undefined ? undefined : schemaToJson(common),
  };
}

function read(json: JsonObject): SchemaProps {
  const { schema, problems } = readSchema(json);
  assert.ok(schema !== undefined, problems.join("; "));
  return schema;
}

describe("the cost of a comparison", () => {
  const nested = (depth: number, maxLength: number) => {
    let schema: JsonObject = {
      type: "object",
      properties: Object.fromEntries(
        Array.from({ length: 500 }, (_, i) => [`f${i}`, { type: "string", default: "a" }]),
      ),
    };
    for (let level = 0; level < depth; level++)
      schema = {
        type: "object",
        properties: { below: schema, beside: { type: "string", maxLength } },
        "x-kubernetes-validations": [{ rule: "true" }],
      };
    return read(schema);
  };
  const stepsOf = (depth: number) => {
    const work = compareSchemas(nested(depth, 2), nested(depth, 1));
    let steps = 0;
    while (work.next().done !== true) steps++;
    return steps;
  };

  it("follows the number of nodes, and not their number times their depth", () => {
    assert.ok(stepsOf(40) < 1.5 * stepsOf(10), `${stepsOf(10)} steps and ${stepsOf(40)}`);
  });
});
