import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import { type FieldSet, fieldSetOf, ignoreTimestampChanges } from "./index.ts";
import { configMap, entries, entry, first, second, update } from "./update-fixture.ts";

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
