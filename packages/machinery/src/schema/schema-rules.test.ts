import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import { readSchema, validateSchema } from "./index.ts";

const at = "spec.versions[0].schema.openAPIV3Schema";

/** Texts of what is wrong with the schema, the common path cut off. */
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
            { b: { type: "object", nullable: true } },
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
          properties: { metadata: root({ namespace: { type: "string", default: "A B" } }) },
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
