/** Scalars of JSON as values of their declared types. */
import { decodeBase64 } from "../values/base64.ts";
import { toInt } from "../values/json-view.ts";
import { chargeSteps, chargeText } from "../values/step-counter.ts";
import { parseDate, parseDuration, parseTimestamp } from "../values/time.ts";
import { CelError, type CelResult } from "../values/value.ts";

export function adaptBool(raw: unknown): CelResult {
  return typeof raw === "boolean" ? raw : unexpected("bool", raw);
}

export function adaptInt(raw: unknown): CelResult {
  if (typeof raw === "number" && Number.isInteger(raw)) return toInt(raw);
  return typeof raw === "bigint" ? raw : unexpected("int", raw);
}

export function adaptDouble(raw: unknown): CelResult {
  if (typeof raw === "number") return raw;
  return typeof raw === "bigint" ? Number(raw) : unexpected("float", raw);
}

export function adaptString(raw: unknown): CelResult {
  return typeof raw === "string" ? raw : unexpected("string", raw);
}

export function adaptBytes(raw: unknown): CelResult {
  if (typeof raw !== "string") return unexpected("string", raw);
  // Decoded each time that an expression reads the field.
  chargeSteps(raw.length >> 1);
  return (
    decodeBase64(raw) ?? new CelError(`Invalid byte formatted string ${raw}: illegal base64 data`)
  );
}

export function adaptDuration(raw: unknown): CelResult {
  if (typeof raw !== "string") return unexpected("string", raw);
  chargeText(raw.length);
  return parseDuration(raw) ?? new CelError(`Invalid duration ${raw}`);
}

export function adaptDate(raw: unknown): CelResult {
  if (typeof raw !== "string") return unexpected("string", raw);
  chargeText(raw.length);
  return parseDate(raw) ?? new CelError(`Invalid date formatted string ${raw}`);
}

export function adaptDateTime(raw: unknown): CelResult {
  if (typeof raw !== "string") return unexpected("string", raw);
  chargeText(raw.length);
  return parseTimestamp(raw) ?? new CelError(`Invalid date-time formatted string ${raw}`);
}

export function adaptIntOrString(raw: unknown): CelResult {
  if (typeof raw === "string") return raw;
  if (typeof raw === "number" && Number.isInteger(raw)) return toInt(raw);
  if (typeof raw === "bigint") return raw;
  return new CelError("invalid data, expected XIntOrString value to be either a string or integer");
}

function unexpected(wanted: string, raw: unknown): CelError {
  return new CelError(
    `invalid data, expected ${wanted}, got ${raw === null ? "null" : typeof raw}`,
  );
}
