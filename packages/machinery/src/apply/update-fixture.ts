/** Fixtures for tests of non-apply writes: config maps, and helpers for writes. */
import { assert } from "../base/index.ts";
import { cloneJson, type JsonObject, type JsonValue, jsonEqual } from "../json/index.ts";
import {
  managedFieldsOf,
  mapType,
  objectType,
  stringType,
  type UpdateOptions,
  updateManagedFields,
} from "./index.ts";

export const schema = objectType({ data: mapType(stringType) });
export const [first, second, third] = [
  "2026-01-01T00:00:01Z",
  "2026-01-01T00:00:02Z",
  "2026-01-01T00:00:03Z",
];

export function configMap(data: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x", ...metadata }, data };
}

export function update(
  options: Partial<UpdateOptions> & Pick<UpdateOptions, "updated">,
): JsonObject {
  const before = cloneJson([options.live ?? null, options.updated]);
  const result = updateManagedFields({
    manager: "m",
    apiVersion: "v1",
    now: first,
    schema,
    ...options,
  });
  assert(jsonEqual([options.live ?? null, options.updated], before), "the inputs are left alone");
  return result;
}

export function entries(object: JsonObject): JsonValue[] {
  return (managedFieldsOf(object) ?? []) as JsonValue[];
}

export const entry = (
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
