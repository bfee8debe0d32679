/**
 * A text that is equal for equal JSON values: members in sorted order. Go's json.Marshal of a map
 * does the same.
 */
import { isJsonObject, type JsonValue, stringifyJson } from "../json/index.ts";

export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value))
    return `[${value.map((item) => canonicalJson(item as JsonValue)).join()}]`;
  if (!isJsonObject(value)) return stringifyJson(value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as JsonValue)}`);
  return `{${members.join()}}`;
}
