/** A value in words, for messages of tests. */
import { elementsOf } from "../values/collections.ts";
import { CelDuration, CelTimestamp } from "../values/time.ts";
import {
  CelError,
  CelList,
  CelMap,
  type CelResult,
  CelTypeValue,
  CelUint,
} from "../values/value.ts";

export function show(value: CelResult): string {
  if (value instanceof CelError) return `error(${value.message})`;
  if (value instanceof CelUint) return `${value.value}u`;
  if (value instanceof Uint8Array) return `b[${value.join(",")}]`;
  if (value instanceof CelTypeValue) return `type(${value.name})`;
  if (value instanceof CelList) {
    const elements = elementsOf(value);
    return elements instanceof CelError ? show(elements) : `[${elements.map(show).join(", ")}]`;
  }
  if (value instanceof CelMap) {
    return `{${value.keys().map((key) => `${show(key)}: ${show(value.find(key) ?? null)}`)}}`;
  }
  if (value instanceof CelTimestamp || value instanceof CelDuration) {
    return `${value.constructor.name}(${value.nanos})`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
