/**
 * Paths such as `spec.replicas` into JSON objects. Members of lists have no paths: a list is synced
 * as one value.
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  member,
  setMember,
} from "@kcp-ts/machinery/json";

export function fieldPath(path: string): readonly string[] {
  return path.split(".");
}

export function valueAt(object: JsonObject, path: string): JsonValue | undefined {
  let at: JsonValue | undefined = object;
  for (const segment of fieldPath(path)) {
    if (at === undefined || !isJsonObject(at)) return undefined;
    at = member(at, segment);
  }
  return at;
}

/** A copy without the field. */
export function withoutField(object: JsonObject, path: string): JsonObject {
  return without(object, fieldPath(path), 0);
}

function without(object: JsonObject, segments: readonly string[], index: number): JsonObject {
  const segment = segments[index] ?? "";
  const value = member(object, segment);
  if (value === undefined) return object;
  const copy: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(object)) {
    if (key !== segment) setMember(copy, key, object[key] as JsonValue);
    else if (index < segments.length - 1 && isJsonObject(value)) {
      setMember(copy, key, without(value, segments, index + 1));
    } else if (index < segments.length - 1) setMember(copy, key, value);
  }
  return copy;
}

/** The merge patch that sets one field. */
export function patchAt(path: string, value: JsonValue): JsonObject {
  return fieldPath(path).reduceRight<JsonValue>((inner, segment) => {
    const outer: { [key: string]: JsonValue } = {};
    setMember(outer, segment, inner);
    return outer;
  }, value) as JsonObject;
}
