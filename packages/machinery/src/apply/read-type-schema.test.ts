import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import {
  booleanType,
  deducedType,
  numericType,
  objectMetaType,
  ownedFields,
  readObjectType,
  readTypeSchema,
  scalarType,
  stringType,
  type TypeSchema,
  untypedType,
} from "./index.ts";

function field(type: TypeSchema | undefined, name: string): TypeSchema | undefined {
  return type?.map?.fields.get(name)?.type;
}

describe("readTypeSchema", () => {
  const rows: readonly [string, JsonObject, TypeSchema][] = [
    ["strings", { type: "string" }, stringType],
    ["bytes", { type: "string", format: "byte" }, stringType],
    ["other formats as any scalar", { type: "string", format: "date-time" }, scalarType],
    ["integers", { type: "integer" }, numericType],
    ["numbers", { type: "number" }, numericType],
    ["booleans", { type: "boolean" }, booleanType],
    ["int-or-string", { "x-kubernetes-int-or-string": true, anyOf: [] }, scalarType],
  ];
  for (const [title, node, type] of rows) {
    it(`reads ${title}`, () => assert.equal(readTypeSchema(node), type));
  }

  it("reads lists by their list type, atomic by default", () => {
    const list = (extensions: JsonObject) =>
      readTypeSchema({ type: "array", items: { type: "string" }, ...extensions }).list;
    assert.equal(list({})?.relationship, "atomic");
    assert.equal(list({ "x-kubernetes-list-type": "atomic" })?.relationship, "atomic");
    assert.equal(list({ "x-kubernetes-list-type": "set" })?.relationship, "set");
    const keyed = list({
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["b", "a"],
    });
    assert.deepEqual([keyed?.relationship, keyed?.keys], ["keyed", ["a", "b"]]);
  });

  it("reads lists by their patch strategy where they have no list type", () => {
    const list = (extensions: JsonObject) =>
      readTypeSchema({ type: "array", items: {}, ...extensions }).list;
    assert.deepEqual(
      list({
        "x-kubernetes-patch-strategy": "merge,retainKeys",
        "x-kubernetes-patch-merge-key": "name",
      })?.keys,
      ["name"],
    );
    assert.equal(list({ "x-kubernetes-patch-strategy": "merge" })?.relationship, "set");
    assert.equal(
      list({ "x-kubernetes-patch-strategy": "merge", "x-kubernetes-list-type": "atomic" })
        ?.relationship,
      "atomic",
    );
  });

  it("reads maps and structs, granular by default", () => {
    const map = readTypeSchema({ type: "object", additionalProperties: { type: "string" } }).map;
    assert.deepEqual([map?.relationship, map?.additional], ["granular", stringType]);
    const atomic = readTypeSchema({
      type: "object",
      properties: { a: {} },
      "x-kubernetes-map-type": "atomic",
    }).map;
    assert.deepEqual([atomic?.relationship, atomic?.additional], ["atomic", undefined]);
  });

  it("deduces what is not declared", () => {
    assert.equal(readTypeSchema({ type: "object" }).map?.additional, deducedType);
    assert.equal(
      readTypeSchema({ type: "object", additionalProperties: true }).map?.additional,
      deducedType,
    );
    assert.equal(readTypeSchema({ type: "array" }).list?.item, untypedType);
    const open = readTypeSchema({
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { a: { type: "object", properties: { b: { type: "string" } } } },
    });
    assert.equal(open.map?.additional, deducedType);
    assert.equal(field(open, "a")?.map?.additional, deducedType, "it holds for what is below");
    assert.equal(
      readTypeSchema({ type: "object", properties: { a: {} } }).map?.additional,
      undefined,
    );
  });

  it("puts the common parts into embedded resources", () => {
    const type = readTypeSchema({
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
    });
    assert.equal(field(type, "metadata"), objectMetaType);
    assert.equal(type.map?.additional, deducedType);
  });

  it("follows references, those to itself included", () => {
    const schemas = new Map<string, JsonObject>([
      [
        "#/Node",
        { type: "object", properties: { name: { type: "string" }, next: { $ref: "#/Node" } } },
      ],
    ]);
    const type = readTypeSchema(
      {
        type: "object",
        properties: {
          first: { allOf: [{ $ref: "#/Node" }] },
          whole: { $ref: "#/Node", "x-kubernetes-map-type": "atomic" },
          size: { $ref: "#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity" },
          raw: { $ref: "#/definitions/io.k8s.apimachinery.pkg.runtime.RawExtension" },
        },
      },
      { resolve: (reference) => schemas.get(reference) },
    );
    const node = field(type, "first");
    assert.equal(field(node, "next"), node);
    assert.equal(field(type, "whole")?.map?.relationship, "atomic");
    assert.equal(field(type, "size"), scalarType);
    assert.equal(field(type, "raw"), untypedType);
  });
});

describe("readObjectType", () => {
  it("types metadata whatever the schema says about it", () => {
    const type = readObjectType({
      type: "object",
      properties: {
        metadata: { type: "object" },
        spec: { type: "object", properties: { a: { type: "string" } } },
      },
    });
    assert.deepEqual(
      ownedFields({ metadata: { finalizers: ["x"], labels: { a: "b" } }, spec: { a: "1" } }, type),
      {
        "f:metadata": { "f:finalizers": { 'v:"x"': {} }, "f:labels": { "f:a": {} } },
        "f:spec": { "f:a": {} },
      },
    );
  });

  it("deduces all but the common parts where there is no schema", () => {
    for (const node of [
      undefined,
      { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    ]) {
      assert.deepEqual(
        ownedFields(
          { metadata: { finalizers: ["x"] }, spec: { a: { b: [1] } } },
          readObjectType(node),
        ),
        {
          "f:metadata": { "f:finalizers": { 'v:"x"': {} } },
          "f:spec": { ".": {}, "f:a": { ".": {}, "f:b": {} } },
        },
      );
    }
  });
});
