import { type JsonObject, jsonEqual, member } from "../json/index.ts";
import { equalButForTimes, managedFieldsOf } from "./managed-fields.ts";

/**
 * `live` if the two differ only in the managers' timestamps, else `updated`. Controllers apply in
 * loops; a write that changes nothing must not create a new resourceVersion.
 */
export function ignoreTimestampChanges(live: JsonObject, updated: JsonObject): JsonObject {
  if (live === updated) return live;
  // The managers are compared first: they differ in most writes with a change.
  if (!equalButForTimes(managedFieldsOf(live), managedFieldsOf(updated))) return updated;
  return jsonEqual(withoutManagers(live), withoutManagers(updated)) ? live : updated;
}

function withoutManagers(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = (member(object, "metadata") ?? {}) as JsonObject;
  return { ...object, metadata };
}
