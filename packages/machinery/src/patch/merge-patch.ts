/**
 * JSON merge patch (RFC 7386): objects merge member by member, null deletes, any other value
 * replaces.
 */
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/index.ts";
import { PatchError } from "./patch-error.ts";

/**
 * Returns a new document that shares unchanged parts with `document` and values with `patch`;
 * neither is modified. Throws a `malformed` PatchError for a patch that is not an object: no object
 * of the API can become an array or a scalar.
 */
export function applyMergePatch(document: JsonObject, patch: JsonValue): JsonObject {
  if (!isJsonObject(patch)) throw new PatchError("malformed", "Invalid JSON Patch");
  return mergeObjects(document, patch);
}

function mergeObjects(document: JsonObject, patch: JsonObject): JsonObject {
  const merged: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(document)) {
    const patchValue = Object.hasOwn(patch, key) ? patch[key] : undefined;
    if (patchValue === null) continue;
    const value = document[key] as JsonValue;
    setMember(merged, key, patchValue === undefined ? value : mergeValues(value, patchValue));
  }
  for (const key of Object.keys(patch)) {
    const value = patch[key] as JsonValue;
    if (value !== null && !Object.hasOwn(document, key))
      setMember(merged, key, withoutNulls(value));
  }
  return merged;
}

function mergeValues(value: JsonValue, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  return isJsonObject(value) ? mergeObjects(value, patch) : withoutNulls(patch);
}

/**
 * The result of merging into nothing. Nulls inside arrays are values and stay, members of objects
 * inside arrays included.
 */
function withoutNulls(patch: JsonValue): JsonValue {
  return isJsonObject(patch) ? mergeObjects({}, patch) : patch;
}
