import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import { mapType, objectType, readObjectType, resetFieldsOf, stringType } from "./index.ts";
import { configMap, entries, entry, first, second, third, update } from "./update-fixture.ts";

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
