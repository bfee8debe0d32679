import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cloneJson, type JsonObject, type JsonValue } from "../json/index.ts";
import {
  type FieldSet,
  fieldSetOf,
  ignoreTimestampChanges,
  managedFieldsOf,
  mapType,
  numericType,
  objectType,
  readObjectType,
  resetFieldsOf,
  stringType,
  structType,
  type UpdateOptions,
  updateManagedFields,
  updateManagersMax,
} from "./index.ts";

const schema = objectType({ data: mapType(stringType) });
const [first, second, third] = [
  "2026-01-01T00:00:01Z",
  "2026-01-01T00:00:02Z",
  "2026-01-01T00:00:03Z",
];

function configMap(data: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x", ...metadata }, data };
}

function update(options: Partial<UpdateOptions> & Pick<UpdateOptions, "updated">): JsonObject {
  const before = cloneJson([options.live ?? null, options.updated]);
  const result = updateManagedFields({
    manager: "m",
    apiVersion: "v1",
    now: first,
    schema,
    ...options,
  });
  assert.deepEqual([options.live ?? null, options.updated], before, "the inputs are left alone");
  return result;
}

function entries(object: JsonObject): JsonValue[] {
  return (managedFieldsOf(object) ?? []) as JsonValue[];
}

const entry = (
  manager: string,
  time: string,
  fieldsV1: JsonObject,
  more: JsonObject = {},
): JsonObject => ({
  manager,
  operation: "Update",
  apiVersion: "v1",
  time,
  fieldsType: "FieldsV1",
  fieldsV1,
  ...more,
});

describe("managedFields after a create", () => {
  it("give everything but the system's fields to the creator, containers included", () => {
    const created = update({
      updated: configMap(
        { b: "1", a: "2" },
        {
          namespace: "n",
          uid: "u",
          resourceVersion: "1",
          generation: 1,
          creationTimestamp: first,
          labels: { app: "web" },
          finalizers: ["example.com/x"],
          ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "u1" }],
        },
      ),
    });
    assert.equal(
      JSON.stringify(entries(created)),
      JSON.stringify([
        entry("m", first, {
          "f:data": { ".": {}, "f:a": {}, "f:b": {} },
          "f:metadata": {
            "f:finalizers": { ".": {}, 'v:"example.com/x"': {} },
            "f:labels": { ".": {}, "f:app": {} },
            "f:ownerReferences": { ".": {}, 'k:{"uid":"u1"}': {} },
          },
        }),
      ]),
    );
  });

  it("name a manager without a name unknown", () => {
    assert.deepEqual(
      entries(update({ manager: "", updated: configMap({ a: "1" }) })).map(
        (e) => (e as JsonObject)["manager"],
      ),
      ["unknown"],
    );
  });

  it("leave out what the endpoint resets", () => {
    const created = update({
      schema: objectType({ spec: mapType(stringType), status: mapType(stringType) }),
      resetFields: resetFieldsOf(["status"]),
      updated: { apiVersion: "v1", kind: "K", metadata: {}, spec: { a: "1" }, status: { b: "1" } },
    });
    assert.deepEqual(entries(created), [entry("m", first, { "f:spec": { ".": {}, "f:a": {} } })]);
  });
});

describe("managedFields after an update", () => {
  const created = update({ updated: configMap({ a: "1", b: "1" }, { uid: "u" }) });

  it("move what changed to the writer", () => {
    const updated = update({
      live: created,
      updated: configMap({ a: "2", b: "1", c: "1" }, { uid: "u" }),
      manager: "other",
      now: second,
    });
    assert.deepEqual(entries(updated), [
      entry("m", first, { "f:data": { ".": {}, "f:b": {} } }),
      entry("other", second, { "f:data": { "f:a": {}, "f:c": {} } }),
    ]);
  });

  it("take what is removed from everybody, and managers without fields with it", () => {
    const shared = update({
      live: created,
      updated: configMap({ a: "1", b: "2" }, { uid: "u" }),
      manager: "other",
      now: second,
    });
    const removed = update({
      live: shared,
      updated: configMap({ a: "1" }, { uid: "u" }),
      manager: "third",
      now: third,
    });
    assert.deepEqual(entries(removed), [entry("m", first, { "f:data": { ".": {}, "f:a": {} } })]);
  });

  it("keep the time of a manager that writes what is there", () => {
    const again = update({
      live: created,
      updated: configMap({ a: "1", b: "1" }, { uid: "u" }),
      now: second,
    });
    assert.deepEqual(again, created);
  });

  it("renew the time of a manager that writes something", () => {
    const updated = update({
      live: created,
      updated: configMap({ a: "1", b: "2" }, { uid: "u" }),
      now: second,
    });
    assert.deepEqual(entries(updated), [
      entry("m", second, { "f:data": { ".": {}, "f:a": {}, "f:b": {} } }),
    ]);
  });

  it("are the live ones when the client sends none or something that cannot be read", () => {
    for (const managedFields of [
      undefined,
      null,
      [{ manager: "x" }],
      [{}, {}],
      [entry("x", first, { q: {} })],
    ]) {
      const updated = update({
        live: created,
        updated: configMap(
          { a: "1", b: "1" },
          { uid: "u", ...(managedFields === undefined ? {} : { managedFields }) },
        ),
      });
      assert.deepEqual(entries(updated), entries(created), JSON.stringify(managedFields));
    }
  });

  it("are what the client sends when it can be read, normalised", () => {
    const sent = entry("x", first, { "f:data": { "f:b": {}, "f:a": { ".": {} } } });
    const updated = update({
      live: created,
      updated: configMap({ a: "1", b: "1" }, { uid: "u", managedFields: [sent] }),
    });
    assert.equal(
      JSON.stringify(entries(updated)),
      JSON.stringify([entry("x", first, { "f:data": { "f:a": {}, "f:b": {} } })]),
    );
  });

  it("cannot be set through a subresource", () => {
    const updated = update({
      live: created,
      subresource: "status",
      updated: configMap({ a: "1", b: "1" }, { uid: "u", managedFields: [] }),
    });
    assert.deepEqual(entries(updated), entries(created));
  });

  it("carry the subresource of the write", () => {
    const updated = update({
      live: created,
      subresource: "status",
      manager: "m",
      now: second,
      updated: configMap({ a: "2", b: "1" }, { uid: "u" }),
    });
    assert.deepEqual(entries(updated), [
      entry("m", first, { "f:data": { ".": {}, "f:b": {} } }),
      entry("m", second, { "f:data": { "f:a": {} } }, { subresource: "status" }),
    ]);
  });

  it("are forgotten on request and stay forgotten", () => {
    for (const managedFields of [[], [{}]]) {
      const reset = update({
        live: created,
        updated: configMap({ a: "1", b: "1" }, { uid: "u", managedFields }),
      });
      assert.deepEqual(reset["metadata"], { name: "x", uid: "u" });
      const later = update({ live: reset, updated: configMap({ a: "2" }, { uid: "u" }) });
      assert.deepEqual(later["metadata"], { name: "x", uid: "u" });
    }
  });

  it("have one entry per version of an updater", () => {
    const other = update({
      live: created,
      updated: { ...configMap({ a: "2", b: "1" }, { uid: "u" }), apiVersion: "v2" },
      apiVersion: "v2",
      now: second,
    });
    assert.deepEqual(entries(other), [
      entry("m", first, { "f:data": { ".": {}, "f:b": {} } }),
      entry("m", second, { "f:data": { "f:a": {} } }, { apiVersion: "v2" }),
    ]);
  });

  it("stay as they are, entry by entry, where nothing changes", () => {
    const updated = update({
      live: created,
      updated: configMap({ a: "1", b: "1", c: "1" }, { uid: "u" }),
      manager: "o",
    });
    assert.equal(entries(updated)[0], entries(created)[0]);
  });
});

describe("managers in other versions", () => {
  const types = new Map([
    ["v1", objectType({ spec: structType({ replicas: numericType, other: stringType }) })],
    ["v2", objectType({ spec: structType({ count: numericType, other: stringType }) })],
  ]);
  const converter: UpdateOptions["converter"] = (object, apiVersion) => {
    const type = types.get(apiVersion);
    if (type === undefined) return undefined;
    const { replicas, count, ...spec } = object["spec"] as JsonObject;
    const value = (replicas ?? count) as JsonValue;
    const renamed: JsonObject =
      apiVersion === "v1" ? { ...spec, replicas: value } : { ...spec, count: value };
    return { object: { ...object, apiVersion, spec: renamed }, type };
  };
  const live = update({
    apiVersion: "v2",
    schema: types.get("v2") as typeof schema,
    updated: { apiVersion: "v2", kind: "K", metadata: {}, spec: { count: 1, other: "a" } },
  });

  it("lose what is written in this one", () => {
    const liveInV1 = converter(live, "v1")?.object as JsonObject;
    const updated = update({
      live: liveInV1,
      updated: { ...liveInV1, spec: { replicas: 2, other: "a" } },
      schema: types.get("v1") as typeof schema,
      manager: "scaler",
      now: second,
      converter,
    });
    assert.deepEqual(entries(updated), [
      entry("m", first, { "f:spec": { ".": {}, "f:other": {} } }, { apiVersion: "v2" }),
      entry("scaler", second, { "f:spec": { "f:replicas": {} } }),
    ]);
  });

  it("are forgotten when their version is gone", () => {
    const stale = {
      ...live,
      metadata: {
        managedFields: [
          entry("old", first, { "f:spec": {} }, { apiVersion: "v0" }),
          ...entries(live),
        ],
      },
    };
    const liveInV1 = converter(stale, "v1")?.object as JsonObject;
    const updated = update({
      live: liveInV1,
      updated: liveInV1,
      schema: types.get("v1") as typeof schema,
      converter,
    });
    assert.deepEqual(entries(updated), entries(live));
  });
});

describe("types that change", () => {
  it("turn owned parts into an owned whole where something becomes atomic", () => {
    const granular = readObjectType({
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: { a: { type: "object", properties: { b: { type: "string" } } } },
        },
      },
    });
    const atomic = readObjectType({
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            a: {
              type: "object",
              "x-kubernetes-map-type": "atomic",
              properties: { b: { type: "string" } },
            },
          },
        },
      },
    });
    const object = { apiVersion: "v1", kind: "K", metadata: { uid: "u" }, spec: { a: { b: "1" } } };
    const live = update({ schema: granular, updated: object });
    const updated = update({ schema: atomic, live, updated: object });
    assert.deepEqual(entries(updated), [entry("m", first, { "f:spec": { ".": {}, "f:a": {} } })]);
  });
});

describe("the number of update managers", () => {
  const writes = (count: number): JsonObject => {
    let live = update({ updated: configMap({ key0: "1" }, { uid: "u" }), manager: "m0" });
    for (let i = 1; i < count; i++) {
      live = update({
        live,
        manager: `m${i}`,
        now: `2026-01-01T00:01:${String(i).padStart(2, "0")}Z`,
        updated: configMap(
          Object.fromEntries(Array.from({ length: i + 1 }, (_, j) => [`key${j}`, "1"])),
          { uid: "u" },
        ),
      });
    }
    return live;
  };
  const names = (object: JsonObject) => entries(object).map((e) => (e as JsonObject)["manager"]);

  it("may reach the limit", () => {
    assert.deepEqual(
      names(writes(updateManagersMax)),
      Array.from({ length: updateManagersMax }, (_, i) => `m${i}`),
    );
  });

  it("stays at the limit: the oldest are folded into ancient-changes", () => {
    const over = writes(updateManagersMax + 1);
    assert.deepEqual(names(over), [
      "ancient-changes",
      ...Array.from({ length: updateManagersMax - 1 }, (_, i) => `m${i + 2}`),
    ]);
    assert.deepEqual(
      entries(over)[0],
      entry("ancient-changes", "2026-01-01T00:01:01Z", {
        "f:data": { ".": {}, "f:key0": {}, "f:key1": {} },
      }),
    );
    const more = writes(updateManagersMax + 3);
    assert.equal(entries(more).length, updateManagersMax);
    assert.deepEqual((entries(more)[0] as JsonObject)["fieldsV1"], {
      "f:data": { ".": {}, "f:key0": {}, "f:key1": {}, "f:key2": {}, "f:key3": {} },
    });
  });
});

describe("the order of entries", () => {
  it("is appliers first, then time, name, version, subresource", () => {
    const f: FieldSet = fieldSetOf(["f:data"]);
    const sent = [
      entry("A", second, f, {}),
      entry("b", first, f, { subresource: "status" }),
      entry("b", first, f, { apiVersion: "v2" }),
      entry("b", first, f, {}),
      entry("a", first, f, {}),
      entry("z", second, f, { operation: "Apply" }),
    ];
    const updated = update({
      live: configMap({}, { uid: "u" }),
      updated: configMap({}, { uid: "u", managedFields: sent }),
      manager: "nobody",
    });
    assert.deepEqual(
      entries(updated).map((e) => {
        const { manager, operation, apiVersion, subresource = "" } = e as { [key: string]: string };
        return `${operation} ${manager} ${apiVersion} ${subresource}`.trim();
      }),
      [
        "Apply z v1",
        "Update a v1",
        "Update b v1",
        "Update b v1 status",
        "Update b v2",
        "Update A v1",
      ],
    );
  });
});

describe("ignoreTimestampChanges", () => {
  const live = update({ updated: configMap({ a: "1" }, { uid: "u" }) });
  const later = {
    ...live,
    metadata: {
      ...(live["metadata"] as JsonObject),
      managedFields: [entry("m", second, { "f:data": { ".": {}, "f:a": {} } })],
    },
  };

  it("gives the live object when only times differ", () => {
    assert.equal(ignoreTimestampChanges(live, later), live);
  });

  it("gives the new object when something else differs", () => {
    for (const updated of [
      { ...later, data: { a: "2" } },
      { ...later, metadata: { ...later.metadata, labels: {} } },
      { ...later, metadata: { ...later.metadata, managedFields: [] } },
      {
        ...later,
        metadata: {
          ...later.metadata,
          managedFields: [entry("x", second, { "f:data": { ".": {}, "f:a": {} } })],
        },
      },
    ]) {
      assert.equal(ignoreTimestampChanges(live, updated), updated);
    }
  });
});
