import { isJsonObject, type JsonValue } from "./value.ts";

/**
 * Deep equality; the order of object members does not count, the order of array items does.
 * `onMembers` is called with the number of compared members of `a`.
 */
export function jsonEqual(
  a: JsonValue | undefined,
  b: JsonValue | undefined,
  onMembers?: (count: number) => void,
): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) {
    // A bigint and a number never represent the same integer: the parser creates bigints only
    // beyond 2^53.
    return false;
  }
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, i) => jsonEqual(item as JsonValue, b[i] as JsonValue, onMembers));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  onMembers?.(keys.length);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && jsonEqual(a[key], b[key], onMembers));
}
