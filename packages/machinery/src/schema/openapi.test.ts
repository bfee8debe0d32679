import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { openApiName, type PublishedKind, publishV2, publishV3, readSchema } from "./index.ts";

const kind: PublishedKind = {
  group: "bar.k8s.io",
  version: "v1",
  kind: "Foo",
  listKind: "FooList",
  plural: "foos",
  selectableFields: [],
};
const gvk = {
  "x-kubernetes-group-version-kind": [{ group: "bar.k8s.io", kind: "Foo", version: "v1" }],
};

function read(json: JsonValue) {
  const { schema } = readSchema(json);
  assert.ok(schema);
  return schema;
}

/** Without descriptions, which are long and the same everywhere. */
function bare(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map((item) => bare(item as JsonValue));
  if (!isJsonObject(json)) return json;
  const entries = Object.entries(json).filter(([key]) => key !== "description");
  return Object.fromEntries(entries.map(([key, value]) => [key, bare(value)]));
}

const objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const three2 = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { $ref: `#/definitions/${objectMeta}` },
};
const three3 = { ...three2, metadata: { allOf: [{ $ref: `#/components/schemas/${objectMeta}` }] } };
const v2 = (json: JsonObject): JsonValue => bare(publishV2(read(json), kind).schema);
const v3 = (json: JsonObject): JsonValue => bare(publishV3(read(json), kind).schema);

describe("publishV3", () => {
  it("keeps defaults, nullable, alternatives and extensions", () => {
    const x = {
      type: "object",
      nullable: true,
      default: { a: 1 },
      oneOf: [{ required: ["a"] }],
      properties: { a: { type: "integer" } },
      "x-kubernetes-validations": [{ rule: "true", message: "m" }],
      "x-kubernetes-map-type": "atomic",
    };
    assert.deepEqual(v3({ type: "object", properties: { x } }), {
      type: "object",
      properties: { x, ...three3 },
      ...gvk,
    });
  });

  it("spells out int-or-string", () => {
    const published = v3({
      type: "object",
      properties: { x: { "x-kubernetes-int-or-string": true } },
    });
    assert.deepEqual(published, {
      type: "object",
      properties: {
        x: { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true },
        ...three3,
      },
      ...gvk,
    });
  });

  it("gives embedded resources their fields", () => {
    const x = {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      "x-kubernetes-preserve-unknown-fields": true,
    };
    assert.deepEqual(v3({ type: "object", properties: { x } }), {
      type: "object",
      properties: { x: { ...x, properties: three3, required: ["kind", "apiVersion"] }, ...three3 },
      ...gvk,
    });
  });

  it("names selectable fields, and a kind without schema is an object", () => {
    const published = publishV3(undefined, { ...kind, selectableFields: [".spec.a"] });
    assert.deepEqual(bare(published.schema), {
      type: "object",
      ...gvk,
      "x-kubernetes-selectable-fields": [{ fieldPath: "spec.a" }],
    });
  });

  it("describes the list", () => {
    const { listName, listSchema } = publishV3(undefined, kind);
    assert.equal(listName, "io.k8s.bar.v1.FooList");
    assert.deepEqual(bare(listSchema), {
      type: "object",
      required: ["items"],
      properties: {
        apiVersion: { type: "string" },
        kind: { type: "string" },
        metadata: {
          allOf: [{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta" }],
        },
        items: { type: "array", items: { $ref: "#/components/schemas/io.k8s.bar.v1.Foo" } },
      },
      "x-kubernetes-group-version-kind": [{ group: "bar.k8s.io", kind: "FooList", version: "v1" }],
    });
  });
});

describe("publishV2", () => {
  it("drops alternatives, and the type where null is allowed", () => {
    const json = {
      type: "object",
      required: ["a", "b"],
      properties: {
        a: { type: "array", nullable: true, items: { type: "string" } },
        b: { type: "string", anyOf: [{ pattern: "a" }], not: { pattern: "b" }, maxLength: 3 },
      },
    };
    assert.deepEqual(v2(json), {
      type: "object",
      required: ["b"],
      properties: { a: {}, b: { type: "string", maxLength: 3 }, ...three2 },
      ...gvk,
    });
  });

  it("says nothing about what is below preserved fields", () => {
    const open = { "x-kubernetes-preserve-unknown-fields": true };
    const json = {
      type: "object",
      properties: {
        a: { type: "object", ...open, properties: { b: { type: "string" } } },
        c: { type: "array", ...open, items: { type: "string" } },
      },
    };
    assert.deepEqual(v2(json), {
      type: "object",
      properties: { a: open, c: open, ...three2 },
      ...gvk,
    });
    assert.deepEqual(v2({ ...json, ...open }), { type: "object", ...gvk });
  });
});

describe("openApiName", () => {
  it("reverses the group", () => {
    assert.equal(
      openApiName("stable.example.com", "v1", "CronTab"),
      "com.example.stable.v1.CronTab",
    );
  });
});
