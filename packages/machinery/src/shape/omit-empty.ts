import type { JsonValue } from "../json/index.ts";
import type { Field, MessageShape } from "./shape.ts";

/** Go's zero time, which counts as absent. */
const zeroTimes: ReadonlySet<JsonValue> = new Set([
  "0001-01-01T00:00:00Z",
  "0001-01-01T00:00:00.000000Z",
]);

/**
 * Go's `omitempty`: empty lists and maps are omitted, and so are the zeros of some numbers and
 * booleans, and of times.
 */
export function isOmittedWhenEmpty(
  message: MessageShape,
  { name, shape }: Field,
  value: JsonValue,
): boolean {
  if (shape.kind === "list" || shape.kind === "map") {
    return isEmpty(value as object) && !message.keepsEmpty.has(name);
  }
  if (shape.kind !== "scalar") return false;
  if (shape.scalar === "time" || shape.scalar === "microTime") return zeroTimes.has(value);
  if (shape.isZeroless !== true) return false;
  return value === false || value === 0 || value === "";
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false;
  return true;
}
