import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { haveSameHiddenClass } from "@kcp-ts/testkit";
import { withManagedFields } from "./owned-object.ts";
import { configMaps } from "./resources/core/configmaps.ts";

const owner = { manager: "m", subresource: "", isApply: false };

/** A create of it, as it is to be stored. */
function stored(object: JsonObject): JsonObject {
  return withManagedFields({
    definition: configMaps,
    cluster: "a" as ClusterName,
    owner,
    prepared: { object, sent: object },
    live: undefined,
    now: "2026-01-01T00:00:00Z",
  });
}

function sent(name: string): JsonObject {
  const text = `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"${name}"},"data":{"k":"v"}}`;
  return JSON.parse(text) as JsonObject;
}

describe("ownedObject", () => {
  it("adds the owner and the cluster, and changes nothing of what it is given", () => {
    const object = sent("x");
    const { metadata } = stored(object) as { metadata: JsonObject };
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

  it("gives objects of one outline few hidden classes, and their metadata as well", () => {
    const made = Array.from({ length: 1000 }, (_, i) => stored(sent(`x-${i}`)));
    assert.ok(changesOfClass(made) < 50);
    assert.ok(changesOfClass(made.map(({ metadata }) => metadata as JsonObject)) < 50);
  });
});

/** How often an object is of another hidden class than the one before it: some of the first are, until V8 knows what their members are like. */
function changesOfClass(objects: readonly object[]): number {
  return objects.filter((each, i) => i > 0 && !haveSameHiddenClass(objects[i - 1] as object, each))
    .length;
}
