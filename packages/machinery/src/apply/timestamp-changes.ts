import { type JsonObject, jsonEqual, member } from "../json/index.ts";
import { equalButForTimes, managedFieldsOf } from "./managed-fields.ts";

/**
 * `live` if the only difference between the two is the times of managers, else `updated`. Controllers apply in loops; a write that changes
 * nothing must not make a new resourceVersion.
 */
export function ignoreTimestampChanges(live: JsonObject, updated: JsonObject): JsonObject {
  if (live === updated) return live;
  // The managers first: they differ in most writes that change something.
  if (!equalButForTimes(managedFieldsOf(live), managedFieldsOf(updated))) return updated;
  return jsonEqual(withoutManagers(live), withoutManagers(updated)) ? live : updated;
}

function withoutManagers(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = (member(object, "metadata") ?? {}) as JsonObject;
  return { ...object, metadata };
}
