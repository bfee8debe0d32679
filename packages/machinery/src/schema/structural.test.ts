import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import { readSchema, validateSchema, validateStructural } from "./index.ts";

const at = "spec.versions[0].schema.openAPIV3Schema";

/** Texts of what is wrong with the structure, the common path cut off. */
function structure(json: JsonValue): string[] {
  const { schema, problems } = readSchema(json);
  assert.ok(schema, problems.join());
  return validateStructural(schema, at).map((error) => formatFieldError(error).replaceAll(at, "@"));
}

function judge(json: JsonValue): string[] {
  const { schema, problems } = readSchema(json);
  assert.ok(schema, problems.join());
  return validateSchema(schema, at).map((error) => formatFieldError(error).replaceAll(at, "@"));
}

const root = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});

describe("validateStructural", () => {
  const cases: readonly (readonly [string, JsonValue, readonly string[]])[] = [
    ["a plain schema is structural", root({ x: { type: "string" } }), []],
    ["the root needs a type", {}, ["@.type: Required value: must not be empty at the root"]],
    [
      "the root is an object",
      { type: "array", items: { type: "string" } },
      ['@.type: Invalid value: "array": must be object at the root'],
    ],
    [
      "fields need types",
      root({ x: {} }),
      ["@.properties[x].type: Required value: must not be empty for specified object fields"],
    ],
    [
      "items need types",
      root({ x: { type: "array", items: {} } }),
      ["@.properties[x].items.type: Required value: must not be empty for specified array items"],
    ],
    [
      "arrays need items",
      root({ x: { type: "array" } }),
      ["@.properties[x].items: Required value: must be specified"],
    ],
    [
      "the root is no map",
      { type: "object", additionalProperties: { type: "string" } },
      ["@.additionalProperties: Forbidden: must not be used at the root"],
    ],
    [
      "int-or-string and preserved fields need no type",
      root({
        x: { "x-kubernetes-int-or-string": true },
        y: { "x-kubernetes-preserve-unknown-fields": true },
      }),
      [],
    ],
    [
      "int-or-string may spell out its alternatives",
      root({
        x: {
          "x-kubernetes-int-or-string": true,
          anyOf: [{ type: "integer" }, { type: "string" }],
        },
        y: {
          "x-kubernetes-int-or-string": true,
          allOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }, { pattern: "^a" }],
        },
      }),
      [],
    ],
    [
      "int-or-string excludes other natures",
      root({
        x: {
          "x-kubernetes-int-or-string": true,
          "x-kubernetes-preserve-unknown-fields": true,
        },
      }),
      [
        "@.properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true",
      ],
    ],
    [
      "embedded resources are objects with fields",
      root({ x: { type: "string", "x-kubernetes-embedded-resource": true } }),
      [
        "@.properties[x].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
        '@.properties[x].type: Invalid value: "string": must be object if x-kubernetes-embedded-resource is true',
      ],
    ],
    [
      "embedded resources are no maps",
      root({
        x: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true,
          additionalProperties: { type: "string" },
        },
      }),
      [
        "@.properties[x].additionalProperties: Forbidden: must not be used if x-kubernetes-embedded-resource is set",
      ],
    ],
    [
      "metadata is Kubernetes' own",
      root({ metadata: { type: "object", properties: { labels: { type: "object" } } } }),
      [
        "@.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
      ],
    ],
    [
      "metadata may narrow names",
      root({
        metadata: {
          type: "object",
          properties: {
            name: { type: "string", maxLength: 5 },
            generateName: { type: "string" },
          },
        },
      }),
      [],
    ],
    [
      "kind, apiVersion and metadata keep their types",
      root({
        kind: { type: "integer" },
        apiVersion: { type: "object" },
        metadata: { type: "string" },
      }),
      [
        '@.properties[apiVersion].type: Invalid value: "object": must be string',
        '@.properties[kind].type: Invalid value: "integer": must be string',
        '@.properties[metadata].type: Invalid value: "string": must be object',
      ],
    ],
    [
      "patterns are RE2",
      root({ x: { type: "string", pattern: "(?=a)" } }),
      [
        '@.properties[x].pattern: Invalid value: "(?=a)": must be a valid regular expression, but isn\'t: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
      ],
    ],
    [
      "alternatives mention only what is specified outside",
      root({ x: { type: "string" } }, { anyOf: [{ properties: { y: { minLength: 1 } } }] }),
      ["@.properties[y]: Required value: because it is defined in @.anyOf[0].properties[y]"],
    ],
    [
      "alternatives mention only items that are specified outside",
      root({ x: { type: "object" } }, { not: { properties: { x: { items: { minLength: 1 } } } } }),
      ["@.properties[x].items: Required value: because it is defined in @.not.properties[x].items"],
    ],
    [
      "alternatives do not mention metadata",
      root(
        { metadata: { type: "object" } },
        { oneOf: [{ properties: { metadata: { properties: { name: { minLength: 1 } } } } }] },
      ),
      [
        "@.oneOf[0].properties[metadata]: Forbidden: must not be specified in a nested context",
        "@.properties[metadata].properties[name]: Required value: because it is defined in @.oneOf[0].properties[metadata].properties[name]",
      ],
    ],
  ];
  for (const [title, schema, expected] of cases) {
    it(title, () => {
      assert.deepEqual(structure(schema), expected);
    });
  }

  for (const [keyword, value, text] of [
    ["type", "string", "must be empty to be structural"],
    ["title", "t", "must be empty to be structural"],
    ["description", "d", "must be empty to be structural"],
    ["default", 1, "must be undefined to be structural"],
    ["nullable", true, "must be false to be structural"],
    ["additionalProperties", true, "must be undefined to be structural"],
    ["x-kubernetes-preserve-unknown-fields", true, "must be false to be structural"],
    ["x-kubernetes-embedded-resource", true, "must be false to be structural"],
    ["x-kubernetes-int-or-string", true, "must be false to be structural"],
    ["x-kubernetes-list-map-keys", ["a"], "must be empty to be structural"],
    ["x-kubernetes-list-type", "set", "must be undefined to be structural"],
    ["x-kubernetes-map-type", "atomic", "must be undefined to be structural"],
    ["x-kubernetes-validations", [{ rule: "true" }], "must be empty to be structural"],
  ] as const) {
    for (const junctor of ["allOf", "anyOf", "oneOf", "not"]) {
      it(`${keyword} has no place inside ${junctor}`, () => {
        const nested = { [keyword]: value } as JsonObject;
        const schema = root({}, { [junctor]: junctor === "not" ? nested : [nested] });
        const place = junctor === "not" ? "not" : `${junctor}[0]`;
        assert.deepEqual(structure(schema), [`@.${place}.${keyword}: Forbidden: ${text}`]);
      });
    }
  }
});

describe("validateSchema", () => {
  const cases: readonly (readonly [string, JsonValue, readonly string[]])[] = [
    ["accepts a plain schema", root({ x: { type: "string" } }), []],
    [
      "the root is never null",
      root({}, { nullable: true }),
      ["@.nullable: Forbidden: nullable cannot be true at the root"],
    ],
    [
      "properties and additionalProperties exclude each other",
      root({ x: root({ a: { type: "string" } }, { additionalProperties: { type: "string" } }) }),
      [
        "@.properties[x].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
      ],
    ],
    [
      "uniqueItems is too slow",
      root({ x: { type: "array", items: { type: "string" }, uniqueItems: true } }),
      [
        "@.properties[x].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
      ],
    ],
    [
      "null is no type",
      root({ x: { type: "null" } }),
      [
        '@.properties[x].type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"',
        "@.properties[x].type: Forbidden: type cannot be set to null, use nullable as an alternative",
      ],
    ],
    [
      "items is one schema",
      root({ x: { type: "array", items: [{ type: "string" }] } }),
      ["@.properties[x].items: Forbidden: items must be a schema object and not an array"],
    ],
    [
      "preserve-unknown-fields is true or nothing",
      root({ x: { type: "object", "x-kubernetes-preserve-unknown-fields": false } }),
      [
        "@.properties[x].x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or undefined",
      ],
    ],
    [
      "map-type belongs to objects",
      root({ x: { type: "string", "x-kubernetes-map-type": "deep" } }),
      [
        '@.properties[x].type: Invalid value: "string": must be object if x-kubernetes-map-type is specified',
        '@.properties[x].x-kubernetes-map-type: Unsupported value: "deep": supported values: "atomic", "granular"',
      ],
    ],
    [
      "list-type belongs to arrays",
      root({ x: { type: "object", "x-kubernetes-list-type": "bag" } }),
      [
        '@.properties[x].type: Invalid value: "object": must be array if x-kubernetes-list-type is specified',
        '@.properties[x].x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map"',
      ],
    ],
    [
      "list-map-keys belong to maps",
      root({
        x: { type: "array", items: { type: "string" }, "x-kubernetes-list-map-keys": ["a"] },
      }),
      [
        "@.properties[x].x-kubernetes-list-type: Required value: must be map if x-kubernetes-list-map-keys is non-empty",
      ],
    ],
    [
      "map lists need keys and objects",
      root({ x: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "map" } }),
      [
        "@.properties[x].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        '@.properties[x].items.type: Invalid value: "string": must be object if parent array\'s x-kubernetes-list-type is map',
      ],
    ],
    [
      "map keys exist, are scalars, stand once and always have a value",
      root({
        x: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["a", "b", "c", "b"],
          items: root(
            {
              b: { type: "object", nullable: true },
            },
            { nullable: true, required: ["b"] },
          ),
        },
      }),
      [
        '@.properties[x].x-kubernetes-list-map-keys: Invalid value: ["a","b","c","b"]: entries must all be names of item properties',
        '@.properties[x].items.properties[b].type: Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
        '@.properties[x].x-kubernetes-list-map-keys: Invalid value: ["a","b","c","b"]: entries must all be names of item properties',
        '@.properties[x].items.properties[b].type: Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
        '@.properties[x].x-kubernetes-list-map-keys: Invalid value: ["a","b","c","b"]: must not contain duplicate entries',
        "@.properties[x].items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is map",
        "@.properties[x].items.properties[b].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
        "@.properties[x].items.properties[b].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
      ],
    ],
    [
      "an optional map key needs a default",
      root({
        x: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["a"],
          items: root({ a: { type: "string" } }),
        },
      }),
      [
        "@.properties[x].items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property",
      ],
    ],
    [
      "items of sets are atomic",
      root({
        x: { type: "array", "x-kubernetes-list-type": "set", items: { type: "object" } },
        y: {
          type: "array",
          "x-kubernetes-list-type": "set",
          items: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
        },
      }),
      [
        "@.properties[x].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set",
        '@.properties[y].items.x-kubernetes-list-type: Invalid value: "set": must be atomic as item of a list with x-kubernetes-list-type=set',
      ],
    ],
    [
      "no defaults in top-level metadata",
      root({
        metadata: { type: "object", properties: { name: { type: "string", default: "a" } } },
      }),
      [
        "@.properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata",
      ],
    ],
    [
      "defaults have no unknown fields",
      root({ x: root({ a: { type: "string" } }, { default: { b: 1 } }) }),
      ['@.properties[x].default: Invalid value: {"b":1}: must not have unknown fields'],
    ],
    [
      "defaults are valid",
      root({
        x: { type: "string", maxLength: 2, default: "abc" },
        y: root({ a: { type: "integer" } }, { default: { a: "b" } }),
      }),
      [
        "@.properties[x].default: Too long: may not be more than 2 bytes",
        '@.properties[y].default.a: Invalid value: "string": a in body must be of type integer: "string"',
      ],
    ],
    [
      "defaults inside embedded metadata make valid metadata",
      root({
        x: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          properties: {
            metadata: root({ namespace: { type: "string", default: "A B" } }),
          },
        },
      }),
      [
        "@.properties[x].properties[metadata].properties[namespace].default: Invalid value: \"A B\": must result in valid metadata: metadata.namespace: Invalid value: \"A B\": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
      ],
    ],
    [
      "no embedded resources in metadata",
      root({
        x: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          properties: {
            metadata: root({
              labels: {
                type: "object",
                "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true,
              },
            }),
          },
        },
      }),
      [
        "@.properties[x].properties[metadata].properties[labels].x-kubernetes-embedded-resource: Forbidden: must not be used inside of resource meta",
      ],
    ],
  ];
  for (const [title, schema, expected] of cases) {
    it(title, () => {
      assert.deepEqual(judge(schema), expected);
    });
  }

  for (const [keyword, value] of [
    ["id", "x"],
    ["$ref", "#/x"],
    ["definitions", { a: {} }],
    ["dependencies", { a: ["b"] }],
    ["patternProperties", { a: {} }],
    ["additionalItems", true],
  ] as const) {
    it(`${keyword} is not supported`, () => {
      const schema = root({ x: { type: "string", [keyword]: value as JsonValue } });
      assert.deepEqual(judge(schema), [
        `@.properties[x].${keyword}: Forbidden: ${keyword} is not supported`,
      ]);
    });
  }

  it("$schema is refused as a whole", () => {
    assert.deepEqual(judge(root({}, { $schema: "http://json-schema.org" })), [
      "@: Invalid value: \"\": OpenAPIV3Schema 'schema' is not supported",
    ]);
  });
});
