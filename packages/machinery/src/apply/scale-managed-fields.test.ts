import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import {
  type FieldPath,
  numericType,
  objectType,
  parentManagedFields,
  replicasPath,
  scaleApiVersion,
  scaleManagedFields,
  structType,
  updateManagedFields,
} from "./index.ts";

const paths = new Map<string, FieldPath | null>([
  ["apps/v1", replicasPath(".spec.replicas")],
  ["apps/v2", replicasPath(".spec.pool.size")],
  ["apps/v3", null],
]);

function entry(
  manager: string,
  operation: string,
  apiVersion: string,
  fieldsV1: JsonObject,
  more: JsonObject = {},
): JsonObject {
  return {
    manager,
    operation,
    apiVersion,
    time: "2026-01-01T00:00:00Z",
    fieldsType: "FieldsV1",
    fieldsV1,
    ...more,
  };
}

function parent(...managedFields: JsonObject[]): JsonObject {
  return { apiVersion: "apps/v1", kind: "D", metadata: { managedFields } };
}

const replicas = { "f:spec": { "f:replicas": {} } };
const both = { "f:spec": { "f:paused": {}, "f:replicas": {} } };
const options = { apiVersion: "apps/v1", paths };

describe("scaleManagedFields", () => {
  it("shows those who own the replicas, as the scale object has them", () => {
    assert.deepEqual(
      scaleManagedFields(
        parent(
          entry("a", "Apply", "apps/v1", both),
          entry("b", "Update", "apps/v2", { "f:spec": { "f:pool": { "f:size": {} } } }),
          entry("c", "Update", "apps/v1", { "f:spec": { "f:paused": {} } }),
          entry("d", "Update", "apps/v3", replicas),
          entry("e", "Update", "apps/v0", replicas),
          entry("f", "Update", "apps/v1", replicas, { subresource: "scale" }),
        ),
        paths,
      ),
      [
        entry("a", "Apply", scaleApiVersion, replicas),
        entry("b", "Update", scaleApiVersion, replicas),
        entry("f", "Update", scaleApiVersion, replicas, { subresource: "scale" }),
      ],
    );
  });
});

describe("parentManagedFields", () => {
  it("keeps the entries of those who still own the replicas", () => {
    const entries = [
      entry("a", "Apply", "apps/v1", both),
      entry("c", "Update", "apps/v1", { "f:spec": { "f:paused": {} } }),
    ];
    const object = parent(...entries);
    assert.deepEqual(
      parentManagedFields(object, scaleManagedFields(object, paths), options),
      entries,
    );
  });

  it("moves the replicas to who took them, and forgets versions that are gone", () => {
    const object = parent(
      entry("a", "Apply", "apps/v1", both),
      entry("b", "Update", "apps/v2", { "f:spec": { "f:pool": { "f:size": {} } } }),
      entry("old", "Update", "apps/v0", replicas),
    );
    const taker = entry("hpa", "Update", scaleApiVersion, replicas, { subresource: "scale" });
    assert.deepEqual(parentManagedFields(object, [taker], options), [
      entry("a", "Apply", "apps/v1", { "f:spec": { "f:paused": {} } }),
      entry("hpa", "Update", "apps/v1", replicas, { subresource: "scale" }),
    ]);
  });

  it("adds the replicas to an entry that its owner has already", () => {
    const owned = entry(
      "hpa",
      "Update",
      "apps/v1",
      { "f:spec": { "f:paused": {} } },
      { subresource: "scale" },
    );
    const taker = entry("hpa", "Update", scaleApiVersion, replicas, { subresource: "scale" });
    assert.deepEqual(parentManagedFields(parent(owned), [taker], options), [
      entry("hpa", "Update", "apps/v1", both, { subresource: "scale" }),
    ]);
  });

  it("owns nothing in a version without a scale subresource", () => {
    const taker = entry("hpa", "Update", scaleApiVersion, replicas);
    assert.deepEqual(parentManagedFields(parent(), [taker], { apiVersion: "apps/v3", paths }), []);
  });
});

describe("a write through the scale subresource", () => {
  it("takes the replicas from their owner", () => {
    const object = parent(entry("a", "Apply", "apps/v1", both));
    const scale = (size: number, managedFields: readonly JsonValue[]): JsonObject => ({
      apiVersion: scaleApiVersion,
      kind: "Scale",
      metadata: { uid: "u", managedFields },
      spec: { replicas: size },
    });
    const shown = scaleManagedFields(object, paths);
    const updated = updateManagedFields({
      live: scale(1, shown),
      updated: scale(2, shown),
      manager: "kubectl",
      apiVersion: scaleApiVersion,
      subresource: "scale",
      now: "2026-01-01T00:00:01Z",
      schema: objectType({ spec: structType({ replicas: numericType }) }),
    });
    const { managedFields } = updated["metadata"] as { managedFields: JsonValue[] };
    assert.deepEqual(parentManagedFields(object, managedFields, options), [
      entry("a", "Apply", "apps/v1", { "f:spec": { "f:paused": {} } }),
      entry("kubectl", "Update", "apps/v1", replicas, {
        time: "2026-01-01T00:00:01Z",
        subresource: "scale",
      }),
    ]);
  });
});
