/** What ConfigMaps and Secrets have in common: maps of file-like keys, and the promise not to change. */
import { type Resumable, YieldCounter } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { errorsPerFieldMax } from "@kcp-ts/machinery/meta";
import { configMapKeyErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";

/** Keys and values after which a large map rests. */
const judgedAtOnce = 1000;

export function* keyErrors(field: string, keys: readonly string[]): Resumable<FieldError[]> {
  const pace = new YieldCounter(judgedAtOnce);
  const errors: FieldError[] = [];
  for (const key of keys) {
    for (const message of configMapKeyErrors(key)) {
      errors.push(fieldError.invalid(`${field}[${key}]`, key, message));
    }
    // More would fill the answer, not help.
    if (errors.length >= errorsPerFieldMax) break;
    if (pace.isTime()) yield;
  }
  return errors;
}

export interface KeyedData {
  readonly data: JsonObject;
  /** Asked for once: a large object takes milliseconds to tell them. */
  readonly keys: readonly string[];
  readonly encoding: "text" | "base64";
}

/** The bytes that the values stand for, as far as they are no more than `max`. */
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
