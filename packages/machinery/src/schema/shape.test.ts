import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JsonObject, type JsonValue, parseJson, stringifyJson } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import { compileSchema, type Shaped, strictDecodingErrors } from "./index.ts";

const compile = (spec: JsonObject) => compileSchema({ type: "object", properties: { spec } });

/** `spec` after pruning. */
function prune(
  schema: JsonObject,
  spec: JsonValue,
): { spec: JsonValue; unknown: readonly string[] } {
  const shaped = compile(schema).prune({ spec });
  return { spec: (shaped.value as JsonObject)["spec"] as JsonValue, unknown: shaped.unknownFields };
}

/** `spec` after everything that is done to a request. */
function admit(schema: JsonObject, spec: JsonValue): JsonValue {
  return (compile(schema).admit({ spec }).value as JsonObject)["spec"] as JsonValue;
}

const text = { type: "string" };
const preserving = "x-kubernetes-preserve-unknown-fields";

describe("strictDecodingErrors", () => {
  it("names unknown fields first, then duplicates", () => {
    const { value, duplicates } = parseJson('{"spec":{"replicas":1,"replicas":2,"foo":1}}');
    const schema = compile({ type: "object", properties: { replicas: { type: "integer" } } });
    const { unknownFields } = schema.admit(value);
    assert.deepEqual(strictDecodingErrors({ unknownFields, duplicateFields: duplicates }), [
      'unknown field "spec.foo"',
      'duplicate field "spec.replicas"',
    ]);
  });
});

describe("pruning", () => {
  it("removes unknown fields and names them by path", () => {
    const schema = {
      type: "object",
      properties: {
        a: text,
        list: { type: "array", items: { type: "object", properties: { a: text } } },
        map: { type: "object", additionalProperties: { type: "object", properties: { a: text } } },
      },
    };
    assert.deepEqual(
      prune(schema, {
        a: "1",
        z: 1,
        list: [{ a: "1" }, { b: { c: 1 } }],
        map: { k: { a: "1", b: 2 } },
      }),
      {
        spec: { a: "1", list: [{ a: "1" }, {}], map: { k: { a: "1" } } },
        unknown: ["spec.list[1].b", "spec.map.k.b", "spec.z"],
      },
    );
  });

  it("keeps unknown fields where they are preserved, and prunes specified ones below", () => {
    const schema = {
      type: "object",
      [preserving]: true,
      properties: { known: { type: "object", properties: { a: text } } },
    };
    assert.deepEqual(prune(schema, { free: { x: [{ y: 1 }] }, known: { a: "1", b: 2 } }), {
      spec: { free: { x: [{ y: 1 }] }, known: { a: "1" } },
      unknown: ["spec.known.b"],
    });
  });

  it("lets the items of a preserving array preserve", () => {
    const schema = {
      type: "array",
      [preserving]: true,
      items: { type: "object", properties: { a: { type: "object", properties: { b: text } } } },
    };
    assert.deepEqual(prune(schema, [{ a: { b: "1", c: 2 }, d: 3 }]), {
      spec: [{ a: { b: "1" }, d: 3 }],
      unknown: ["spec[0].a.c"],
    });
  });

  it("empties values that have no schema", () => {
    const schema = { type: "object", additionalProperties: true };
    assert.deepEqual(prune(schema, { a: 1, b: { c: 1 }, d: [{ e: 1 }, 2] }), {
      spec: { a: 1, b: {}, d: [{}, 2] },
      unknown: ["spec.b.c", "spec.d[0].e"],
    });
  });

  it("leaves apiVersion, kind and metadata of resources alone", () => {
    const schema = {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      properties: { spec: { type: "object" } },
    };
    const embedded = { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, other: 1 };
    assert.deepEqual(prune(schema, embedded), {
      spec: { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } },
      unknown: ["spec.other"],
    });
    const root = compile({ type: "object" }).prune({
      apiVersion: "a/v1",
      kind: "K",
      metadata: { x: 1 },
      more: 1,
    });
    assert.deepEqual(root.value, { apiVersion: "a/v1", kind: "K", metadata: { x: 1 } });
    assert.deepEqual(root.unknownFields, ["more"]);
  });

  it("treats __proto__ as any other name", () => {
    const schema = { type: "object", properties: { a: text } };
    const spec = parseJson('{"__proto__":{"polluted":1},"constructor":1,"a":"1"}').value;
    const pruned = prune(schema, spec);
    assert.equal(stringifyJson(pruned.spec), '{"a":"1"}');
    assert.deepEqual(pruned.unknown, ["spec.__proto__", "spec.constructor"]);
    const kept = prune({ type: "object", [preserving]: true }, spec);
    assert.equal(stringifyJson(kept.spec), stringifyJson(spec));
    const named = {
      type: "object",
      properties: parseJson('{"__proto__":{"type":"object","properties":{"a":{"type":"string"}}}}')
        .value,
    };
    assert.equal(stringifyJson(prune(named, spec).spec), '{"__proto__":{}}');
    assert.equal(({} as { polluted?: number }).polluted, undefined);
  });
});

describe("defaulting", () => {
  it("fills in absent fields, also inside defaults", () => {
    const schema = {
      type: "object",
      properties: {
        a: { type: "integer", default: 1 },
        b: { type: "object", default: {}, properties: { c: { type: "string", default: "x" } } },
        d: { type: "object", properties: { e: { type: "string", default: "not reached" } } },
      },
    };
    assert.deepEqual(admit(schema, {}), { a: 1, b: { c: "x" } });
    assert.deepEqual(admit(schema, { a: 5, d: {} }), {
      a: 5,
      b: { c: "x" },
      d: { e: "not reached" },
    });
  });

  it("reaches items and values of maps", () => {
    const item = { type: "object", properties: { a: { type: "integer", default: 1 } } };
    const schema = {
      type: "object",
      properties: {
        list: { type: "array", items: item },
        map: { type: "object", additionalProperties: item },
      },
    };
    assert.deepEqual(admit(schema, { list: [{}, { a: 2 }], map: { k: {} } }), {
      list: [{ a: 1 }, { a: 2 }],
      map: { k: { a: 1 } },
    });
  });

  it("drops an explicit null unless the field is nullable", () => {
    const schema = {
      type: "object",
      properties: {
        plain: text,
        filled: { type: "string", default: "x" },
        nullable: { type: "string", nullable: true, default: "y" },
        map: { type: "object", additionalProperties: text },
      },
    };
    assert.deepEqual(
      admit(schema, { plain: null, filled: null, nullable: null, map: { a: null, b: "c" } }),
      { filled: "x", nullable: null, map: { b: "c" } },
    );
  });

  it("replaces a null item by the items' default and otherwise keeps it", () => {
    const list = (items: JsonObject): JsonObject => ({ type: "array", items });
    assert.deepEqual(admit(list({ type: "string", default: "x" }), [null, "a"]), ["x", "a"]);
    assert.deepEqual(admit(list(text), [null, "a"]), [null, "a"]);
    assert.deepEqual(admit(list({ type: "string", nullable: true, default: "x" }), [null]), [null]);
  });

  it("hands out its own copy of a default each time", () => {
    const schema = compile({
      type: "object",
      properties: { a: { type: "object", default: { b: [1] }, [preserving]: true } },
    });
    const first = schema.admit({ spec: {} }).value as { spec: { a: { b: number[] } } };
    first.spec.a.b.push(2);
    assert.deepEqual(schema.admit({ spec: {} }).value, { spec: { a: { b: [1] } } });
  });

  it("can be done alone, keeping nulls and unknown fields", () => {
    const schema = compile({
      type: "object",
      properties: { a: { type: "integer", default: 1 }, b: text },
    });
    assert.deepEqual(schema.applyDefaults({ spec: { b: null, z: 1 } }), {
      spec: { b: null, z: 1, a: 1 },
    });
  });
});

describe("admit", () => {
  it("returns the object itself when there is nothing to change", () => {
    const schema = compile({ type: "object", properties: { a: { type: "integer", default: 1 } } });
    const object = {
      apiVersion: "a/v1",
      kind: "K",
      metadata: { name: "n", labels: { a: "b" }, creationTimestamp: "2026-11-15T10:00:00Z" },
      spec: { a: 1 },
    };
    assert.equal(schema.admit(object).value, object);
  });

  it("never changes its input", () => {
    const freeze = (value: JsonValue): JsonValue => {
      if (typeof value === "object" && value !== null) {
        for (const item of Object.values(value)) freeze(item as JsonValue);
        Object.freeze(value);
      }
      return value;
    };
    const schema = compile({
      type: "object",
      properties: {
        a: {
          type: "array",
          items: { type: "object", properties: { b: { type: "integer", default: 1 } } },
        },
      },
    });
    const object = freeze({
      metadata: { foo: 1, name: "" },
      spec: { x: 1, a: [{}, { b: null, c: 1 }] },
    });
    assert.deepEqual(schema.admit(object).value, {
      metadata: {},
      spec: { a: [{ b: 1 }, { b: 1 }] },
    });
  });

  const texts = ({ error, unknownFields }: Shaped) => ({
    error: error === undefined ? undefined : formatFieldError(error),
    unknownFields,
  });
  const schema = compile({
    type: "object",
    additionalProperties: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      [preserving]: true,
    },
  });

  it("coerces metadata as the typed decoder does", () => {
    const metadata = {
      name: "a",
      namespace: "",
      labels: {},
      finalizers: [],
      generation: 0,
      creationTimestamp: null,
      deletionTimestamp: "2026-11-15T12:00:00.5+02:00",
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", extra: 1 }],
      clusterName: "x",
    };
    const shaped = schema.admit({
      metadata,
      spec: { k: { apiVersion: "v1", kind: "Pod", metadata: { nmae: 1 } } },
    });
    assert.deepEqual(shaped.value, {
      metadata: {
        name: "a",
        deletionTimestamp: "2026-11-15T10:00:00Z",
        ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "" }],
      },
      spec: { k: { apiVersion: "v1", kind: "Pod", metadata: {} } },
    });
    assert.deepEqual(texts(shaped), {
      error: undefined,
      unknownFields: [
        "metadata.clusterName",
        "metadata.ownerReferences[0].extra",
        "spec[k].metadata.nmae",
      ],
    });
  });

  it("refuses malformed metadata in requests and drops it from stored objects", () => {
    const object = {
      spec: { k: { apiVersion: "v1", kind: 5, metadata: { labels: { a: 1 }, name: "n" } } },
    };
    assert.deepEqual(texts(schema.admit(object)), {
      error: "spec[k].kind: Invalid value: 5: must be a string",
      unknownFields: [],
    });
    const wrong = { spec: { k: { apiVersion: "v1", kind: "K", metadata: { labels: { a: 1 } } } } };
    assert.deepEqual(texts(schema.admit(wrong)), {
      error:
        'spec[k].metadata: Invalid value: {"labels":{"a":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
      unknownFields: [],
    });
    assert.deepEqual(schema.restore(object).value, {
      spec: { k: { apiVersion: "v1", metadata: { name: "n" } } },
    });
  });
});
