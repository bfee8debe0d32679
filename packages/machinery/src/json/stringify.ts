/** JSON text of a value, big integers included. Compact, members in their own order. */
import type { JsonValue } from "./value.ts";

export function stringifyJson(value: JsonValue): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // JSON.stringify throws a TypeError for bigints, and only for them: values from the parser have
    // no cycles.
    if (!(error instanceof TypeError)) throw error;
    return stringifyExact(value);
  }
}

function stringifyExact(value: JsonValue): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value))
    return `[${value.map((item) => stringifyExact(item as JsonValue)).join(",")}]`;
  const members: string[] = [];
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) members.push(`${JSON.stringify(key)}:${stringifyExact(item)}`);
  }
  return `{${members.join(",")}}`;
}
