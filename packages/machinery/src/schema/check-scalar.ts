/**
 * Checks one value against the keywords of types, strings, formats, numbers and enums. Each check
 * returns its contribution to the match count.
 */
import type { JsonValue } from "../json/index.ts";
import { canonicalJson } from "./canonical.ts";
import type { ErrorCollector } from "./error-collector.ts";
import { formatCheck } from "./formats.ts";
import { formatGoFloat, formatTruncated, isJsonInteger } from "./go-number.ts";
import {
  type EnumValues,
  type PlainType,
  type SchemaNode,
  typeBit,
  type ValueChecks,
} from "./schema-node.ts";

export type ValueKind = "string" | "boolean" | "array" | "object" | "integer" | "number";

export function kindOf(value: Exclude<JsonValue, null>): ValueKind {
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "boolean";
    case "bigint":
      return "integer";
    case "number":
      return Number.isSafeInteger(value) ? "integer" : "number";
    default:
      return Array.isArray(value) ? "array" : "object";
  }
}

/**
 * The match count of a value that a plain node accepts by its type alone; 0 when it needs a full
 * check.
 */
export function plainMatches(plain: PlainType, value: JsonValue): number {
  switch (plain) {
    case "string":
      return typeof value === "string" ? 7 : 0;
    case "boolean":
      return typeof value === "boolean" ? 6 : 0;
    case "integer":
      return Number.isSafeInteger(value) ? 8 : 0;
    case "int32":
      return Number.isInteger(value) && ((value as number) | 0) === value ? 8 : 0;
    case "number":
      return typeof value === "number" ? 8 : 0;
    case "":
      return 0;
  }
}

/** Whether the value has one of the node's types; without types any value matches. */
export function checkType(
  node: SchemaNode,
  kind: ValueKind,
  value: JsonValue,
  errors: ErrorCollector,
): boolean {
  const { types, format } = node;
  if (types === 0 && format === "") return true;
  if (isOfType(types, kind, value)) return true;
  if (format !== "") {
    if (kind !== "string" && kind !== "array") {
      errors.wrongType(format, kind === "integer" ? "int64" : kind === "number" ? "float64" : "");
      return false;
    }
    // Upstream leaves strings and arrays to the format check as soon as there is a format.
    if ((types & (typeBit.number | typeBit.integer)) === 0) return true;
  }
  errors.wrongType(node.typeText, kind);
  return false;
}

function isOfType(types: number, kind: ValueKind, value: JsonValue): boolean {
  if ((types & typeBit[kind]) !== 0) return true;
  if (kind === "integer") return (types & typeBit.number) !== 0;
  return kind === "number" && (types & typeBit.integer) !== 0 && isJsonInteger(value as number);
}

/** Lengths count characters (code points), not bytes, whatever the error text says. */
export function checkString(text: string, checks: ValueChecks, errors: ErrorCollector): boolean {
  const { maxLength, minLength } = checks;
  if (maxLength !== undefined && text.length > maxLength && countRunes(text) > maxLength) {
    errors.tooLong(maxLength);
    return false;
  }
  if (minLength !== undefined && (text.length < minLength || countRunes(text) < minLength)) {
    errors.invalid(text, `should be at least ${minLength} chars long`);
    return false;
  }
  return true;
}

export function countRunes(text: string): number {
  let runes = text.length;
  for (let i = 0; i < text.length - 1; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      runes--;
      i++;
    }
  }
  return runes;
}

export function checkFormat(text: string, format: string, errors: ErrorCollector): void {
  const check = formatCheck(format);
  if (check !== undefined && !check(text)) errors.wrongType(format, text);
}

export function checkEnum(value: JsonValue, allowed: EnumValues, errors: ErrorCollector): void {
  const found =
    typeof value === "object" && value !== null
      ? allowed.compounds.size > 0 && allowed.compounds.has(canonicalJson(value))
      : allowed.scalars.has(value);
  if (!found) errors.unsupported(value, allowed.listed);
}

const int32Max = 2 ** 31 - 1;
const float32Max = 3.4028234663852886e38;

export function checkNumber(
  value: number | bigint,
  kind: ValueKind,
  node: SchemaNode,
  errors: ErrorCollector,
): void {
  // Ranges are enforced only where the type is one alone.
  const type = node.types === typeBit.integer || node.types === typeBit.number ? node.typeText : "";
  const range = (number: number | bigint, what: string): boolean => {
    if (isInRange(number, type, node.format)) return true;
    const format = node.format === "" ? "(default format)" : `with format ${node.format}`;
    errors.untied((name) => `${what} value must be of type ${type} ${format} in ${name}`);
    return false;
  };
  range(value, "Checked");
  const checks = node.checks;
  if (checks === undefined) return;
  const { multipleOf, minimum, maximum } = checks;
  if (multipleOf !== undefined) {
    const whole = range(multipleOf, "MultipleOf") && kind === "integer";
    checkMultipleOf(value, multipleOf, whole, errors);
  }
  if (minimum !== undefined) {
    const whole = range(minimum, "Minimum boundary") && kind === "integer";
    const bound = whole ? Math.trunc(minimum) : minimum;
    const fails = checks.exclusiveMinimum ? value <= bound : value < bound;
    const words = checks.exclusiveMinimum ? "greater than" : "greater than or equal to";
    if (fails) errors.invalid(value, `should be ${words} ${formatBound(bound, whole)}`);
  }
  if (maximum !== undefined) {
    const whole = range(maximum, "Maximum boundary") && kind === "integer";
    const bound = whole ? Math.trunc(maximum) : maximum;
    const fails = checks.exclusiveMaximum ? value >= bound : value > bound;
    const words = checks.exclusiveMaximum ? "less than" : "less than or equal to";
    if (fails) errors.invalid(value, `should be ${words} ${formatBound(bound, whole)}`);
  }
}

function formatBound(bound: number, whole: boolean): string {
  return whole ? formatTruncated(bound) : formatGoFloat(bound);
}

function isInRange(value: number | bigint, type: string, format: string): boolean {
  if (type === "integer") {
    if (typeof value === "bigint") return format !== "int32";
    if (!Number.isInteger(value)) return false;
    if (format === "int32") return value <= int32Max && value >= -int32Max - 1;
    return value < 2 ** 63 && value >= -(2 ** 63);
  }
  if (type === "number" && format === "float") return Math.abs(Number(value)) <= float32Max;
  return true;
}

/**
 * An integer is divided by the factor's whole part, as upstream does: a factor below one rejects
 * every integer.
 */
function checkMultipleOf(
  value: number | bigint,
  factor: number,
  whole: boolean,
  errors: ErrorCollector,
): void {
  const divisor = whole ? Math.trunc(factor) : factor;
  const text = formatBound(divisor, whole);
  if (divisor <= 0) {
    errors.notPositiveFactor(text);
    return;
  }
  const divides = whole
    ? BigInt(value) % BigInt(divisor) === 0n
    : isJsonInteger(divisor < 1 ? (1 / divisor) * Number(value) : Number(value) / divisor);
  if (!divides) errors.invalid(value, `should be a multiple of ${text}`);
}
