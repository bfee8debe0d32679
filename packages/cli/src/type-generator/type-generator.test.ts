import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type KindSource, kindFile, kindsOfDefinition, typeDepthMax } from "./index.ts";

function source(schema: JsonObject, more: Partial<KindSource> = {}): KindSource {
  return {
    group: "example.com",
    version: "v1",
    kind: "Widget",
    resource: "widgets",
    namespaced: true,
    schema,
    definitions: new Map(),
    ...more,
  };
}

const textOf = (schema: JsonObject, more: Partial<KindSource> = {}) =>
  kindFile(source(schema, more), "kcp-ts/sdk").text;

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });

describe("generated types", () => {
  const cases: readonly (readonly [JsonObject, string])[] = [
    [{ type: "string" }, "string"],
    [{ type: "integer", format: "int64" }, "number"],
    [{ type: "boolean", nullable: true }, "boolean | null"],
    [{ type: "array", items: { type: "string" } }, "readonly string[]"],
    [{ type: "array", items: { type: "string", enum: ["a", "b"] } }, 'readonly ("a" | "b")[]'],
    [
      { type: "object", additionalProperties: { type: "number" } },
      "Readonly<Record<string, number>>",
    ],
    [{ type: "object", "x-kubernetes-preserve-unknown-fields": true }, "JsonObject"],
    [{ "x-kubernetes-int-or-string": true }, "string | number"],
    [{ "x-kubernetes-preserve-unknown-fields": true }, "JsonValue"],
    [{}, "JsonValue"],
    [reference("io.k8s.apimachinery.pkg.apis.meta.v1.Time"), "string"],
    [{ allOf: [reference("io.k8s.apimachinery.pkg.api.resource.Quantity")] }, "string | number"],
    [reference("nobody.knows.This"), "JsonValue"],
  ];
  for (const [schema, type] of cases) {
    it(`say ${type} for ${JSON.stringify(schema)}`, () => {
      const text = textOf({ type: "object", properties: { member: schema } });
      assert.ok(text.includes(`readonly member?: ${type};`), text);
    });
  }

  it("mark required members, and leave the common members of objects to the SDK", () => {
    const text = textOf({
      required: ["spec", "metadata"],
      properties: { spec: { type: "string" }, metadata: { type: "object" }, kind: {} },
    });
    assert.match(text, /readonly spec: string;/);
    assert.doesNotMatch(text, /readonly (metadata|kind)/);
  });

  it("declare each reference once, also when it is recursive or shares its last name", () => {
    const node = {
      description: "A node.",
      properties: { next: reference("a.Node"), other: reference("b.Node") },
    };
    const definitions = new Map<string, JsonObject>([
      ["a.Node", node],
      ["b.Node", { properties: { a: reference("a.Node") } }],
    ]);
    const text = textOf({ properties: { first: reference("a.Node") } }, { definitions });
    assert.equal([...text.matchAll(/export interface Node /g)].length, 1);
    assert.match(text, /\/\*\* A node\. \*\/\nexport interface Node \{/);
    assert.match(text, /readonly other\?: Node2;/);
    assert.match(text, /export interface Node2 \{\n {2}readonly a\?: Node;/);
  });

  it("are one file for each kind in its group and version", () => {
    const path = (more: Partial<KindSource>) => kindFile(source({}, more), "x").path;
    assert.equal(path({}), "example.com/v1/widget.ts");
    assert.equal(path({ group: "", kind: "ConfigMap" }), "core/v1/config-map.ts");
    assert.equal(path({ kind: "APIService" }), "example.com/v1/api-service.ts");
    assert.equal(path({ group: "../..", version: "..", kind: "/etc" }), ".._../_/_etc.ts");
  });

  it("name resources in the spelling of their kinds", () => {
    const name = (resource: string, kind: string) =>
      /export const (\S+) =/.exec(textOf({}, { resource, kind }))?.[1];
    assert.equal(name("configmaps", "ConfigMap"), "configMaps");
    assert.equal(name("networkpolicies", "NetworkPolicy"), "networkPolicies");
    assert.equal(name("apiservices", "APIService"), "apiServices");
    assert.equal(name("people", "Person"), "people");
  });

  it("contain only types, whatever hostile texts the schema has", () => {
    const text = textOf(
      {
        description: "*/ process.exit(1); /*",
        properties: {
          'a"; evil(); "': { type: "string", description: "one\u2028two */ evil()" },
          __proto__: { type: "string" },
          constructor: { type: "string", enum: ['"); evil(); ("'] },
        },
      },
      { kind: "Wid get;evil()", resource: "x;evil()", group: '"; evil(); "' },
    );
    const code = text
      .replaceAll(/\/\*.*?\*\//gs, "")
      .replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
      .replaceAll(/^\/\/.*$/gm, "");
    assert.doesNotMatch(code, /evil\(|exit/);
  });

  it(`stop at ${typeDepthMax} levels`, () => {
    const nested = (levels: number): JsonObject =>
      levels === 0 ? { type: "string" } : { type: "object", properties: { m: nested(levels - 1) } };
    assert.match(textOf(nested(typeDepthMax)), /m\?: string/);
    assert.match(textOf(nested(typeDepthMax + 1)), /m\?: JsonValue/);
  });

  it("come from every served version of a CustomResourceDefinition", () => {
    const version = (name: string, served: boolean) => ({
      name,
      served,
      schema: { openAPIV3Schema: { type: "object" } },
    });
    const kinds = kindsOfDefinition({
      spec: {
        group: "example.com",
        scope: "Cluster",
        names: { kind: "Widget", plural: "widgets" },
        versions: [version("v1", true), version("v1alpha1", false), version("v2", true)],
      },
    });
    assert.deepEqual(
      kinds.map(({ version, namespaced }) => [version, namespaced]),
      [
        ["v1", false],
        ["v2", false],
      ],
    );
  });
});
