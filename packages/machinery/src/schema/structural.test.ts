import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import { readSchema, validateStructural } from "./index.ts";

const at = "spec.versions[0].schema.openAPIV3Schema";

/** Texts of what is wrong with the structure, the common path cut off. */
function structure(json: JsonValue): string[] {
  const { schema, problems } = readSchema(json);
  assert.ok(schema, problems.join());
  return validateStructural(schema, at).map((error) => formatFieldError(error).replaceAll(at, "@"));
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
        x: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
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
        x: { "x-kubernetes-int-or-string": true, "x-kubernetes-preserve-unknown-fields": true },
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
          properties: { name: { type: "string", maxLength: 5 }, generateName: { type: "string" } },
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
