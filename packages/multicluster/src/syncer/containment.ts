/**
 * Whether what we asked for is so. What the other side has on top (defaults, injected containers, fields of autoscalers) is none of our business,
 * as server-side apply has it.
 */
import {
  isJsonObject,
  type JsonArray,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  member,
} from "@kcp-ts/machinery/json";

/** Pairs of list members that are compared at most; longer lists count as different, which costs one request. */
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

/** Members that are objects may have others between them: sidecars. Plain values are taken as one whole. */
function isListSubset(desired: JsonArray, actual: JsonArray): boolean {
  if (desired.length > actual.length) return false;
  if (!desired.every(isJsonObject)) return jsonEqual(desired, actual);
  if (desired.every((item, index) => isFieldSubset(item, actual[index]))) return true;
  if (desired.length * actual.length > pairsMax) return false;
  return desired.every((item) => actual.some((other) => isFieldSubset(item, other)));
}
