/**
 * Size limits of webhook configurations and policies. Validation checks each value and compiles
 * each expression synchronously, which blocks other requests; Kubernetes limits only the size of
 * the request.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

/**
 * All CEL expressions of one object together, in UTF-16 units. Compiling takes two or three
 * microseconds for each.
 */
export const expressionsLengthMax = 16 * 1024;
/** Strings, numbers and other scalars in one object: about a thousand webhooks. */
export const valuesMax = 10_000;

/** Checked before all other rules; with an error the other rules are skipped. */
export function limitErrors(object: JsonObject, field: "spec" | "webhooks"): FieldError[] {
  const counted = { values: 0, expressions: 0 };
  count(object[field] ?? {}, "", counted);
  if (counted.values > valuesMax) return [fieldError.tooMany(field, counted.values, valuesMax)];
  return counted.expressions > expressionsLengthMax
    ? [fieldError.tooLong(field, expressionsLengthMax)]
    : [];
}

/** Shaped objects are a few levels deep, whatever was sent. */
function count(
  value: JsonValue,
  name: string,
  counted: { values: number; expressions: number },
): void {
  if (Array.isArray(value)) {
    for (const item of value) count(item as JsonValue, name, counted);
  } else if (isJsonObject(value)) {
    for (const [key, member] of Object.entries(value)) count(member, key, counted);
  } else {
    counted.values++;
    if (typeof value === "string" && /expression$/i.test(name)) counted.expressions += value.length;
  }
}
