/**
 * Whether the actual object has all desired values. Additional values (defaults, injected
 * containers, fields of autoscalers) are ignored, as in server-side apply.
 */
import {
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  member,
} from "@kcp-ts/machinery/json";

/**
 * The limit on compared pairs of list members; longer lists count as different, which costs one
 * request.
 */
const pairsMax = 10_000;

export function isFieldSubset(desired: JsonValue, actual: JsonValue | undefined): boolean {
  if (desired === null) return actual === null || actual === undefined;
  if (actual === undefined) return false;
  if (Array.isArray(desired)) {
    return Array.isArray(actual) && isListSubset(desired as JsonArray, actual as JsonArray);
  }
  if (!isJsonObject(desired)) return jsonEqual(desired, actual);
  return isJsonObject(actual) && isMapSubset(desired, actual);
}

function isMapSubset(desired: JsonObject, actual: JsonObject): boolean {
  return Object.keys(desired).every((key) =>
    isFieldSubset(member(desired, key) ?? null, member(actual, key)),
  );
}

/**
 * Lists of objects may contain additional members, such as sidecars. Lists of plain values are
 * compared as one value.
 */
function isListSubset(desired: JsonArray, actual: JsonArray): boolean {
  if (desired.length > actual.length) return false;
  if (!desired.every(isJsonObject)) return jsonEqual(desired, actual);
  if (desired.every((item, index) => isFieldSubset(item, actual[index]))) return true;
  if (desired.length * actual.length > pairsMax) return false;
  return desired.every((item) => actual.some((other) => isFieldSubset(item, other)));
}
