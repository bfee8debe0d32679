import type { JsonValue } from "../json/index.ts";
import type { Field, MessageShape } from "./shape.ts";

/** What Go's `omitempty` does: empty lists and maps are not told, nor are the zeros of some numbers and booleans. */
export function isLeftOut(
  message: MessageShape,
  { name, shape }: Field,
  value: JsonValue,
): boolean {
  if (shape.kind === "list" || shape.kind === "map") {
    return isEmpty(value as object) && !message.keepsEmpty.has(name);
  }
  if (shape.kind !== "scalar" || shape.isZeroless !== true) return false;
  return value === false || value === 0 || value === "";
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false;
  return true;
}
