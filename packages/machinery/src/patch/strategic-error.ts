/**
 * The error texts of strategic merge patch. Values are printed as Go prints them, because clients
 * show and match them.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { PatchError } from "./patch-error.ts";

/** Values in messages are truncated, so that a response does not repeat the object. */
export const formattedValueCharactersMax = 512;

export function noMergeKey(item: JsonObject, mergeKey: string): PatchError {
  return unmergeable(
    `map: ${formatGoValue(item)} does not contain declared merge key: ${mergeKey}`,
  );
}

export function unknownPatchType(marker: JsonValue, map: JsonObject): PatchError {
  return unmergeable(`unknown patch type: ${formatGoValue(marker)} in map: ${formatGoValue(map)}`);
}

export function badArgumentType(expected: string, actual: JsonValue): PatchError {
  return unmergeable(`expected a ${expected}, but received a ${goType(actual)}`);
}

export function mixedElementTypes(lists: readonly (readonly JsonValue[])[]): PatchError {
  return unmergeable(`list element types are not identical: ${formatGoValue(lists)}`);
}

export function orderMismatch(
  patch: readonly JsonValue[],
  order: readonly JsonValue[],
): PatchError {
  return unmergeable(
    `The order in patch list:\n${formatGoValue(patch)}\n doesn't match $setElementOrder list:\n${formatGoValue(order)}\n`,
  );
}

function unmergeable(message: string): PatchError {
  return new PatchError("unmergeable", message);
}

/** `map[a:1 b:[x y]]`: Go's %v, cut at `formattedValueCharactersMax`. */
function formatGoValue(value: JsonValue): string {
  const text = format(value, formattedValueCharactersMax);
  return text.length <= formattedValueCharactersMax
    ? text
    : `${text.slice(0, formattedValueCharactersMax)}…`;
}

function format(value: JsonValue, budget: number): string {
  if (value === null) return "<nil>";
  if (typeof value !== "object") return String(value);
  const parts: string[] = [];
  let left = budget;
  const entries = isJsonObject(value)
    ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    : [...value.entries()];
  for (const [key, item] of entries) {
    if (left < 0) break;
    const text = isJsonObject(value) ? `${key}:${format(item, left)}` : format(item, left);
    left -= text.length + 1;
    parts.push(text);
  }
  return isJsonObject(value) ? `map[${parts.join(" ")}]` : `[${parts.join(" ")}]`;
}

function goType(value: JsonValue): string {
  if (Array.isArray(value)) return "[]interface {}";
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "bigint":
      return "int64";
    case "number":
      return Number.isInteger(value) ? "int64" : "float64";
    default:
      return value === null ? "%!s(<nil>)" : "map[string]interface {}";
  }
}
