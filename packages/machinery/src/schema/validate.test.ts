import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, type JsonValue, parseJson } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import { compileSchema } from "./index.ts";

/** The texts of what is wrong with `spec.x`, whose schema is given. */
function check(schema: JsonObject, value: JsonValue): string[] {
  const compiled = compileSchema({
    type: "object",
    properties: { spec: { type: "object", properties: { x: schema } } },
  });
  return compiled.validate({ spec: { x: value } }).map(formatFieldError);
}

describe("validate", () => {
  const wrongType = (found: string, type: string): string =>
    `spec.x: Invalid value: "${found}": spec.x in body must be of type ${type}: "${found}"`;
  const invalid = (value: string, text: string): string =>
    `spec.x: Invalid value: ${value}: spec.x in body ${text}`;
  const untied = (text: string): string => `<nil>: Invalid value: "": ${text}`;
  const big = parseJson("9007199254740993").value;

  const cases: readonly (readonly [string, JsonObject, JsonValue, readonly string[]])[] = [
    ["type integer", { type: "integer" }, "a", [wrongType("string", "integer")]],
    ["type string", { type: "string" }, 1, [wrongType("integer", "string")]],
    ["type boolean", { type: "boolean" }, 1.5, [wrongType("number", "boolean")]],
    ["type object", { type: "object" }, [], [wrongType("array", "object")]],
    [
      "type array",
      { type: "array", items: { type: "string" } },
      {},
      [wrongType("object", "array")],
    ],
    ["type number takes integers", { type: "number" }, 1, []],
    ["type integer takes whole floats", { type: "integer" }, 1.0, []],
    ["type integer takes integers beyond 2^53", { type: "integer" }, big, []],
    ["type number takes integers beyond 2^53", { type: "number" }, big, []],
    [
      "type string refuses integers beyond 2^53",
      { type: "string" },
      big,
      [wrongType("integer", "string")],
    ],
    [
      "type integer refuses fractions",
      { type: "integer" },
      1.5,
      [
        wrongType("number", "integer"),
        untied("Checked value must be of type integer (default format) in spec.x"),
      ],
    ],
    [
      "type integer refuses what int64 cannot hold",
      { type: "integer" },
      1e20,
      [
        wrongType("number", "integer"),
        untied("Checked value must be of type integer (default format) in spec.x"),
      ],
    ],
    ["null", { type: "integer" }, null, [wrongType("null", "integer")]],
    ["null where nullable", { type: "integer", nullable: true }, null, []],
    ["null without type", { "x-kubernetes-preserve-unknown-fields": true }, null, []],
    [
      "null is never in an enum",
      { type: "string", nullable: true, enum: ["a"] },
      null,
      ['spec.x: Unsupported value: null: supported values: "a"'],
    ],
    ["int-or-string takes both", { "x-kubernetes-int-or-string": true }, 5, []],
    ["int-or-string takes text", { "x-kubernetes-int-or-string": true }, "25%", []],
    [
      "int-or-string refuses others",
      { "x-kubernetes-int-or-string": true },
      true,
      [wrongType("boolean", "integer,string")],
    ],
    [
      "enum",
      { type: "string", enum: ["a", "b"] },
      "c",
      ['spec.x: Unsupported value: "c": supported values: "a", "b"'],
    ],
    [
      "enum of numbers",
      { type: "integer", enum: [1, 2] },
      3,
      ['spec.x: Unsupported value: 3: supported values: "1", "2"'],
    ],
    [
      "enum of objects",
      { type: "object", enum: [{ a: 1, b: 2 }], "x-kubernetes-preserve-unknown-fields": true },
      { b: 2, a: 1 },
      [],
    ],
    [
      "required",
      { type: "object", required: ["y"], properties: { y: { type: "string" } } },
      {},
      ["spec.x.y: Required value"],
    ],
    ["pattern", { type: "string", pattern: "^a+$" }, "b", [invalid('"b"', "should match '^a+$'")]],
    ["pattern is searched, not matched", { type: "string", pattern: "a" }, "bab", []],
    [
      "maxLength",
      { type: "string", maxLength: 2 },
      "abc",
      ["spec.x: Too long: may not be more than 2 bytes"],
    ],
    ["maxLength counts characters", { type: "string", maxLength: 2 }, "😀é", []],
    [
      "minLength",
      { type: "string", minLength: 2 },
      "😀",
      [invalid('"😀"', "should be at least 2 chars long")],
    ],
    [
      "minimum",
      { type: "integer", minimum: 2 },
      1,
      [invalid("1", "should be greater than or equal to 2")],
    ],
    [
      "maximum",
      { type: "integer", maximum: 2 },
      3,
      [invalid("3", "should be less than or equal to 2")],
    ],
    [
      "exclusive minimum",
      { type: "number", minimum: 0.5, exclusiveMinimum: true },
      0.5,
      [invalid("0.5", "should be greater than 0.5")],
    ],
    [
      "exclusive maximum",
      { type: "integer", maximum: 3, exclusiveMaximum: true },
      3,
      [invalid("3", "should be less than 3")],
    ],
    [
      "bounds of integers beyond 2^53",
      { type: "integer", maximum: 9007199254740992 },
      big,
      [invalid("9007199254740993", "should be less than or equal to 9007199254740992")],
    ],
    [
      "bounds are printed as Go prints floats",
      { type: "number", minimum: 0.00001 },
      0.0000001,
      [invalid("1e-7", "should be greater than or equal to 1e-05")],
    ],
    [
      "multipleOf",
      { type: "integer", multipleOf: 5 },
      7,
      [invalid("7", "should be a multiple of 5")],
    ],
    ["multipleOf of floats", { type: "number", multipleOf: 0.5 }, 1.5, []],
    [
      "multipleOf beyond 2^53",
      { type: "integer", multipleOf: 2 },
      big,
      [invalid("9007199254740993", "should be a multiple of 2")],
    ],
    [
      "int32",
      { type: "integer", format: "int32" },
      2 ** 31,
      [untied("Checked value must be of type integer with format int32 in spec.x")],
    ],
    ["int32 at its edge", { type: "integer", format: "int32" }, 2 ** 31 - 1, []],
    [
      "float",
      { type: "number", format: "float" },
      1e39,
      [untied("Checked value must be of type number with format float in spec.x")],
    ],
    [
      "minItems",
      { type: "array", items: { type: "string" }, minItems: 2 },
      ["a"],
      [invalid("1", "should have at least 2 items")],
    ],
    [
      "maxItems",
      { type: "array", items: { type: "string" }, maxItems: 1 },
      ["a", "b"],
      ["spec.x: Too many: 2: must have at most 1 items"],
    ],
    [
      "uniqueItems",
      { type: "array", items: { type: "string" }, uniqueItems: true },
      ["a", "a"],
      [`spec.x: Invalid value: "": spec.x in body shouldn't contain duplicates`],
    ],
    [
      "minProperties",
      { type: "object", additionalProperties: { type: "string" }, minProperties: 1 },
      {},
      [invalid("0", "should have at least 1 properties")],
    ],
    [
      "maxProperties",
      { type: "object", additionalProperties: { type: "string" }, maxProperties: 1 },
      { a: "", b: "" },
      ["spec.x: Too many: 2: must have at most 1 items"],
    ],
    [
      "additionalProperties: false",
      { type: "object", additionalProperties: false },
      { a: 1 },
      ['spec.x: Invalid value: "a": spec.x.a in body is a forbidden property'],
    ],
    [
      "values of maps",
      { type: "object", additionalProperties: { type: "string" } },
      { a: 1 },
      ['spec.x.a: Invalid value: "integer": spec.x.a in body must be of type string: "integer"'],
    ],
    [
      "items of arrays",
      { type: "array", items: { type: "array", items: { type: "string" } } },
      [["a"], ["b", 1]],
      [
        'spec.x[1][1]: Invalid value: "integer": spec.x[1][1] in body must be of type string: "integer"',
      ],
    ],
    [
      "format",
      { type: "string", format: "date-time" },
      "yesterday",
      ['spec.x: Invalid value: "yesterday": spec.x in body must be of type date-time: "yesterday"'],
    ],
    [
      "a number where a format is asked for",
      { type: "string", format: "date-time" },
      5,
      ['spec.x: Invalid value: "int64": spec.x in body must be of type date-time: "int64"'],
    ],
    ["an unknown format is ignored", { type: "string", format: "colour" }, "x", []],
    [
      "oneOf without a match",
      { type: "integer", oneOf: [{ minimum: 5 }, { maximum: 1 }] },
      3,
      [
        untied('"spec.x" must validate one and only one schema (oneOf). Found none valid'),
        invalid("3", "should be greater than or equal to 5"),
      ],
    ],
    [
      "oneOf with two matches",
      { type: "integer", oneOf: [{ minimum: 1 }, { maximum: 5 }] },
      3,
      [
        untied(
          '"spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
        ),
      ],
    ],
    ["oneOf with one match", { type: "integer", oneOf: [{ minimum: 5 }, { maximum: 5 }] }, 3, []],
    [
      "anyOf",
      { type: "integer", anyOf: [{ minimum: 5 }, { maximum: 1 }] },
      3,
      [
        untied('"spec.x" must validate at least one schema (anyOf)'),
        invalid("3", "should be greater than or equal to 5"),
      ],
    ],
    [
      "allOf in part",
      { type: "integer", allOf: [{ minimum: 5 }, { maximum: 4 }] },
      3,
      [
        invalid("3", "should be greater than or equal to 5"),
        untied('"spec.x" must validate all the schemas (allOf)'),
      ],
    ],
    [
      "allOf altogether",
      { type: "integer", allOf: [{ minimum: 5 }] },
      3,
      [
        invalid("3", "should be greater than or equal to 5"),
        untied('"spec.x" must validate all the schemas (allOf). None validated'),
      ],
    ],
    [
      "not",
      { type: "string", not: { enum: ["a"] } },
      "a",
      [untied('"spec.x" must not validate the schema (not)')],
    ],
    [
      "a set",
      { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
      ["a", "b", "a", "a"],
      ['spec.x[2]: Duplicate value: "a"'],
    ],
    [
      "a set of objects",
      {
        type: "array",
        "x-kubernetes-list-type": "set",
        items: {
          type: "object",
          "x-kubernetes-map-type": "atomic",
          "x-kubernetes-preserve-unknown-fields": true,
        },
      },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      ['spec.x[1]: Duplicate value: {"b":2,"a":1}'],
    ],
    [
      "a map list",
      {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["a", "b"],
        items: {
          type: "object",
          properties: { a: { type: "string" }, b: { type: "integer" }, c: { type: "string" } },
        },
      },
      [
        { a: "x", b: 1 },
        { a: "x", b: 2 },
        { b: 1, a: "x", c: "y" },
      ],
      ['spec.x[2]: Duplicate value: {"a":"x","b":1}'],
    ],
    [
      "an embedded resource",
      {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
      },
      { kind: "Ünd", metadata: { name: "a/b", labels: { "a b": "c" } } },
      [
        "spec.x.apiVersion: Required value",
        `spec.x.kind: Invalid value: "Ünd": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')`,
        "spec.x.metadata.name: Invalid value: \"a/b\": may not contain '/'",
        `spec.x.metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      ],
    ],
  ];
  for (const [title, schema, value, expected] of cases) {
    it(title, () => {
      assert.deepEqual(check(schema, value), expected);
    });
  }

  it("a property named like something inherited is just a property", () => {
    const schema = compileSchema({
      type: "object",
      required: ["constructor"],
      properties: { constructor: { type: "string" }, toString: { type: "integer" } },
    });
    assert.deepEqual(schema.validate({}).map(formatFieldError), ["constructor: Required value"]);
    const object = parseJson('{"constructor":"a","toString":"b","__proto__":{"x":1}}').value;
    assert.deepEqual(schema.validate(object).map(formatFieldError), [
      'toString: Invalid value: "string": toString in body must be of type integer: "string"',
    ]);
  });

  it("the status alone is validated by its own schema", () => {
    const schema = compileSchema({
      type: "object",
      properties: {
        spec: { type: "integer" },
        status: {
          type: "object",
          properties: { phase: { type: "string" } },
          oneOf: [{ required: ["a"] }],
        },
      },
    });
    assert.deepEqual(
      schema.validateStatus({ spec: "x", status: { phase: 1 } }, {}).map(formatFieldError),
      [
        'status: Invalid value: "": "" must validate one and only one schema (oneOf). Found none valid',
        "status.a: Required value",
        'status.phase: Invalid value: "integer": phase in body must be of type string: "integer"',
      ],
    );
  });
});
