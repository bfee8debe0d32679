import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { haveSameHiddenClass } from "@kcp-ts/testkit";
import { withManagedFields } from "./managed-fields.ts";
import { configMaps } from "./resources/core/configmaps.ts";

const fieldManager = { manager: "m", subresource: "", isApply: false };

/** A created object, as it is stored. */
function stored(object: JsonObject): Promise<JsonObject> {
  return withManagedFields({
    definition: configMaps,
    cluster: "a" as ClusterName,
    fieldManager,
    prepared: { object, sent: object, warnings: [] },
    live: undefined,
    now: "2026-01-01T00:00:00Z",
    isLarge: false,
  });
}

function sent(name: string): JsonObject {
  const text = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"${name}"},"data":{"k":"v"}}`;
  return JSON.parse(text) as JsonObject;
}

describe("withManagedFields", () => {
  it("adds the manager and the cluster, and does not modify its input", async () => {
    const object = sent("x");
    const { metadata } = (await stored(object)) as { metadata: JsonObject };
    assert.deepEqual(metadata["annotations"], { "kcp.io/cluster": "a" });
    assert.deepEqual(
      (metadata["managedFields"] as readonly JsonObject[]).map(({ manager, fieldsV1 }) => [
        manager,
        fieldsV1,
      ]),
      [["m", { "f:data": { ".": {}, "f:k": {} } }]],
    );
    assert.deepEqual(object, sent("x"));
  });

  it("gives objects of one outline few hidden classes, and their metadata as well", async () => {
    const made = await Promise.all(Array.from({ length: 1000 }, (_, i) => stored(sent(`x-${i}`))));
    assert.ok(changesOfClass(made) < 50);
    assert.ok(changesOfClass(made.map(({ metadata }) => metadata as JsonObject)) < 50);
  });
});

/**
 * The number of changes of the hidden class between consecutive objects: some of the first change
 * it, until V8 has learned the types of their members.
 */
function changesOfClass(objects: readonly object[]): number {
  return objects.filter((each, i) => i > 0 && !haveSameHiddenClass(objects[i - 1] as object, each))
    .length;
}
