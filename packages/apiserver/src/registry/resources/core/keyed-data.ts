/** The common rules of ConfigMaps and Secrets: maps with file-like keys, and immutability. */
import { type Resumable, YieldCounter } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { errorsPerFieldMax } from "@kcp-ts/machinery/meta";
import { configMapKeyErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

/** The keys and values after which a large map yields to the event loop. */
const judgedAtOnce = 1000;

export function* keyErrors(field: string, keys: readonly string[]): Resumable<FieldError[]> {
  const pace = new YieldCounter(judgedAtOnce);
  const errors: FieldError[] = [];
  for (const key of keys) {
    for (const message of configMapKeyErrors(key)) {
      errors.push(fieldError.invalid(`${field}[${key}]`, key, message));
    }
    // More errors would only make the response larger.
    if (errors.length >= errorsPerFieldMax) break;
    if (pace.isTime()) yield;
  }
  return errors;
}

export interface KeyedData {
  readonly data: JsonObject;
  /** Listed once: it takes milliseconds for a large object. */
  readonly keys: readonly string[];
  readonly encoding: "text" | "base64";
}

/** The decoded bytes of the values, counted up to `max`. */
export function* sizeOf({ data, keys, encoding }: KeyedData, max: number): Resumable<number> {
  const pace = new YieldCounter(judgedAtOnce);
  let size = 0;
  for (const key of keys) {
    if (size > max) break;
    const text = data[key] as string;
    if (encoding === "text") size += Buffer.byteLength(text);
    else
      size +=
        Math.floor((text.length * 3) / 4) - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0);
    if (pace.isTime()) yield;
  }
  return size;
}

export function immutabilityErrors(
  updated: JsonObject,
  old: JsonObject,
  fields: readonly string[],
): FieldError[] {
  if (old["immutable"] !== true) return [];
  const message = "field is immutable when `immutable` is set";
  const errors: FieldError[] = [];
  if (updated["immutable"] !== true) errors.push(fieldError.forbidden("immutable", message));
  for (const field of fields) {
    const before = isJsonObject(old[field]) ? old[field] : {};
    const after = isJsonObject(updated[field]) ? updated[field] : {};
    if (!jsonEqual(before, after)) errors.push(fieldError.forbidden(field, message));
  }
  return errors;
}
