/** Structural schemas converted from OpenAPI models of version 3 and of version 2. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { readSchema, type SchemaProps, validateStructural } from "@kcp-ts/machinery/schema";
import { OpenApiModels } from "./openapi-models.ts";
import {
  modelNodesMax,
  structuralSchema,
  structuralSchemaYielding,
  UnusableModelError,
} from "./structural-schema.ts";

const core = "io.k8s.api.core.v1";
const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";

/** The same models, as a document of each OpenAPI version. */
function documents(models: JsonObject): [string, OpenApiModels][] {
  const text = JSON.stringify(models);
  const v3 = text.replaceAll(
    /\{"\$ref":"([^"]+)"(,"default":[^}]*\})?/g,
    (_, name, more = "") => `{"allOf":[{"$ref":"#/components/schemas/${name}"}]${more}`,
  );
  const v2 = text.replaceAll(/"\$ref":"([^"]+)"/g, (_, name) => `"$ref":"#/definitions/${name}"`);
  return [
    ["version 3", OpenApiModels.of({ components: { schemas: JSON.parse(v3) } })],
    ["version 2", OpenApiModels.of({ definitions: JSON.parse(v2) })],
  ];
}

const gvk = (kind: string) => [{ group: "", version: "v1", kind }];
const models: JsonObject = {
  [`${core}.Pod`]: {
    type: "object",
    description: "A pod.",
    properties: {
      apiVersion: { type: "string" },
      metadata: { $ref: `${meta}.ObjectMeta` },
      spec: { $ref: `${core}.PodSpec` },
    },
    "x-kubernetes-group-version-kind": gvk("Pod"),
  },
  [`${core}.PodSpec`]: {
    type: "object",
    required: ["containers"],
    properties: {
      containers: {
        type: "array",
        items: { $ref: `${core}.Container` },
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
      },
      hostAliases: {
        type: "array",
        items: { type: "string" },
        "x-kubernetes-patch-strategy": "merge",
      },
      args: { type: "array", items: { type: "string" } },
      nodeSelector: {
        type: "object",
        additionalProperties: { type: "string" },
        "x-kubernetes-map-type": "atomic",
      },
      startedAt: { $ref: `${meta}.Time` },
    },
  },
  [`${core}.Container`]: {
    type: "object",
    required: ["name"],
    properties: {
      name: { type: "string", default: "" },
      ports: {
        type: "array",
        items: { $ref: `${core}.ContainerPort` },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
      },
      limits: {
        type: "object",
        additionalProperties: { $ref: "io.k8s.apimachinery.pkg.api.resource.Quantity" },
      },
    },
  },
  [`${core}.ContainerPort`]: {
    type: "object",
    properties: {
      containerPort: { type: "integer", format: "int32", default: 0 },
      protocol: { type: "string" },
      target: { $ref: "io.k8s.apimachinery.pkg.util.intstr.IntOrString" },
    },
  },
  [`${core}.Loop`]: { type: "object", properties: { next: { $ref: `${core}.Loop` } } },
  [`${meta}.ObjectMeta`]: { type: "object", properties: { name: { type: "string" } } },
  [`${meta}.Time`]: { type: "string", format: "date-time" },
};

for (const [version, source] of documents(models)) {
  describe(`OpenAPI ${version}`, () => {
    const schema = structuralSchema(source, `${core}.Pod`);

    it("the model of a kind is found by its group, version and kind", () => {
      assert.equal(source.nameOf({ group: "", version: "v1", kind: "Pod" }), `${core}.Pod`);
      assert.equal(source.nameOf({ group: "", version: "v2", kind: "Pod" }), undefined);
    });

    it("a converted schema is valid in a CustomResourceDefinition", () => {
      const read = readSchema(schema);
      assert.deepEqual(read.problems, []);
      assert.deepEqual(validateStructural(read.schema as SchemaProps, "schema"), []);
    });

    it("the schema of metadata is left to the server", () => {
      assert.deepEqual(at(schema, "metadata"), { type: "object" });
    });

    it("merge types of lists are kept in both spellings, and the keys of map lists are required", () => {
      const containers = at(schema, "spec", "containers");
      assert.equal(containers["x-kubernetes-list-type"], "map");
      assert.deepEqual(containers["x-kubernetes-list-map-keys"], ["name"]);
      assert.equal(at(schema, "spec", "hostAliases")["x-kubernetes-list-type"], "set");
      assert.equal(at(schema, "spec", "args")["x-kubernetes-list-type"], undefined);
      assert.equal(at(schema, "spec", "nodeSelector")["x-kubernetes-map-type"], "atomic");
      const ports = at(containers["items"] as JsonObject, "ports");
      assert.deepEqual(ports["x-kubernetes-list-map-keys"], ["containerPort", "protocol"]);
      assert.deepEqual((ports["items"] as JsonObject)["required"], ["containerPort"]);
    });

    it("defaults that servers apply are kept, and Go's zero values are not", () => {
      const container = at(schema, "spec", "containers")["items"] as JsonObject;
      assert.equal(at(container, "name")["default"], undefined);
      const port = at(container, "ports")["items"] as JsonObject;
      assert.equal(at(port, "protocol")["default"], "TCP");
      assert.equal(at(port, "containerPort")["default"], undefined);
    });

    it("well-known types get more precise schemas than their models describe", () => {
      assert.equal(at(schema, "spec", "startedAt")["format"], "date-time");
      const container = at(schema, "spec", "containers")["items"] as JsonObject;
      const limit = at(container, "limits")["additionalProperties"] as JsonObject;
      assert.equal(limit["x-kubernetes-int-or-string"], true);
      const port = at(container, "ports")["items"] as JsonObject;
      assert.equal(at(port, "target")["x-kubernetes-int-or-string"], true);
    });

    it("rejects a model that refers to itself or to a missing model", () => {
      assert.throws(
        () => structuralSchema(source, `${core}.Loop`),
        /Recursive schema are not supported/,
      );
      assert.throws(() => structuralSchema(source, "nothing"), UnusableModelError);
    });
  });
}

it("names of properties and models are data, even __proto__ and constructor", () => {
  const text = `{"definitions":{"a":{"type":"object","properties":{"__proto__":{"type":"string"}}}}}`;
  const schema = structuralSchema(OpenApiModels.of(JSON.parse(text)), "a");
  assert.deepEqual(Object.keys(schema["properties"] as JsonObject), ["__proto__", "metadata"]);
  assert.throws(() => structuralSchema(OpenApiModels.of({ definitions: {} }), "constructor"));
});

it("rejects a model whose references expand without end", () => {
  const definitions: Record<string, JsonObject> = { m0: { type: "string" } };
  // Each model refers to the previous one ten times: 10^n nodes.
  for (let i = 1; i < 20; i++) {
    const properties = Object.fromEntries(
      Array.from({ length: 10 }, (_, j) => [`f${j}`, { $ref: `#/definitions/m${i - 1}` }]),
    );
    definitions[`m${i}`] = { type: "object", properties };
  }
  const source = OpenApiModels.of({ definitions });
  assert.throws(() => structuralSchema(source, "m19"), /too large/);
  assert.ok(modelNodesMax >= 50_000);
});

function at(schema: JsonObject, ...path: readonly string[]): JsonObject {
  return path.reduce(
    (node, name) => (node["properties"] as JsonObject)[name] as JsonObject,
    schema,
  );
}

describe("models of a hostile cluster", () => {
  it("the conversion yields to the event loop every hundred nodes, and so does reading the models", () => {
    const properties = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [`p${at}`, { type: "string" }]),
    );
    const source = OpenApiModels.of({ definitions: { wide: { properties } } });
    assert.equal([...structuralSchemaYielding(source, "wide")].length, 100);
    const kinds = Array.from({ length: 10_000 }, (_, at) => ({ version: "v1", kind: `K${at}` }));
    const definitions = { many: { "x-kubernetes-group-version-kind": kinds } };
    assert.equal([...OpenApiModels.ofYielding({ definitions })].length, 10);
  });

  it("references that repeat a long text or a long list end at the schema size limit", () => {
    for (const long of [
      { description: "x".repeat(100_000) },
      { type: "string", enum: Array.from({ length: 10_000 }, (_, at) => `value-${at}`) },
    ]) {
      const to = { $ref: "#/definitions/long" };
      const properties = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`p${at}`, to]));
      const source = OpenApiModels.of({ definitions: { long, wide: { properties } } as never });
      assert.throws(() => structuralSchema(source, "wide"), /too large/);
    }
  });
});
