import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import {
  applyConfiguration,
  numericType,
  objectType,
  stringType,
  structType,
  type TypeSchema,
  type UpdateOptions,
  type VersionConverter,
  withAsyncConverter,
} from "./index.ts";
import { entries, entry, first, type schema, second, update } from "./update-fixture.ts";

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

describe("an apply in another version than the last one", () => {
  const types = new Map([
    ["v1", objectType({ spec: structType({ replicas: numericType, other: stringType }) })],
    ["v2", objectType({ spec: structType({ count: numericType, other: stringType }) })],
  ]);
  const convert: VersionConverter = (object, apiVersion) => {
    const type = types.get(apiVersion);
    if (type === undefined) return undefined;
    const { replicas, count, ...spec } = (object["spec"] ?? {}) as JsonObject;
    const value = replicas ?? count;
    const name = apiVersion === "v1" ? "replicas" : "count";
    const renamed = { ...spec, ...(value === undefined ? {} : { [name]: value }) };
    return { object: { ...object, apiVersion, spec: renamed }, type };
  };
  const apply = (
    live: JsonObject | undefined,
    apiVersion: string,
    spec: JsonObject,
    converter = convert,
  ) =>
    applyConfiguration({
      ...(live === undefined ? {} : { live: convert(live, apiVersion)?.object as JsonObject }),
      config: { apiVersion, kind: "K", metadata: { name: "x" }, spec },
      kind: "K",
      manager: "a",
      apiVersion,
      now: first,
      schema: types.get(apiVersion) as TypeSchema,
      force: false,
      converter,
    });

  it("removes what it does not apply any more", () => {
    const live = apply(undefined, "v1", { replicas: 1, other: "x" });
    assert.deepEqual(apply(live, "v2", { other: "x" })["spec"], { other: "x" });
    assert.deepEqual(apply(live, "v2", { count: 2 })["spec"], { count: 2 });
  });

  it("can be converted by an asynchronous converter, one conversion at a time", async () => {
    const live = apply(undefined, "v1", { replicas: 1, other: "x" });
    let asked = 0;
    const applied = await withAsyncConverter(
      async (object, apiVersion) => {
        asked++;
        return convert(object, apiVersion);
      },
      (converter) => apply(live, "v2", { count: 2 }, converter),
    );
    assert.deepEqual(applied, apply(live, "v2", { count: 2 }));
    assert.ok(asked > 0);
  });

  it("fails with what the conversion fails with", async () => {
    const live = apply(undefined, "v1", { replicas: 1, other: "x" });
    const failing = withAsyncConverter(
      () => Promise.reject(new Error("webhook down")),
      (converter) => apply(live, "v2", { count: 2 }, converter),
    );
    await assert.rejects(failing, { message: "webhook down" });
  });
});
