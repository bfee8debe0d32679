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

export function isContained(desired: JsonValue, actual: JsonValue | undefined): boolean {
  if (desired === null) return actual === null || actual === undefined;
  if (actual === undefined) return false;
  if (Array.isArray(desired)) {
    return Array.isArray(actual) && isListContained(desired as JsonArray, actual as JsonArray);
  }
  if (!isJsonObject(desired)) return jsonEqual(desired, actual);
  return isJsonObject(actual) && isMapContained(desired, actual);
}

function isMapContained(desired: JsonObject, actual: JsonObject): boolean {
  return Object.keys(desired).every((key) =>
    isContained(member(desired, key) ?? null, member(actual, key)),
  );
}

/** Members that are objects may have others between them: sidecars. Plain values are taken as one whole. */
function isListContained(desired: JsonArray, actual: JsonArray): boolean {
  if (desired.length > actual.length) return false;
  if (!desired.every(isJsonObject)) return jsonEqual(desired, actual);
  if (desired.every((item, index) => isContained(item, actual[index]))) return true;
  if (desired.length * actual.length > pairsMax) return false;
  return desired.every((item) => actual.some((other) => isContained(item, other)));
}
