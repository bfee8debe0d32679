/**
 * Type conversions: `int`, `string`, `timestamp` and their kin, with cel-go's words for what does
 * not convert.
 */
import { type FunctionDeclaration, fn, global } from "../check/function-declaration.ts";
import { firstArgumentCost } from "../cost/sizes.ts";
import { bytesToStringEstimate, stringToBytesEstimate } from "../cost/standard-estimates.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  STRING,
  TIMESTAMP,
  typeOf,
  typeParam,
  UINT,
} from "../types/type.ts";
import { doubleToInt, doubleToUint, intResult, uintResult } from "../values/arithmetic.ts";
import { formatDouble } from "../values/format-double.ts";
import { UINT_MAX } from "../values/int-ranges.ts";
import { typeValueOf } from "../values/kind.ts";
import {
  type CelDuration,
  type CelTimestamp,
  formatDuration,
  formatTimestamp,
  parseDuration,
  parseTimestamp,
  split,
  timestampOf,
} from "../values/time.ts";
import { CelError, type CelResult, type CelUint, type CelValue } from "../values/value.ts";

const A = typeParam("A");
const identity = (value: CelValue) => value;

export const standardConversions: readonly FunctionDeclaration[] = [
  fn(
    "type",
    global("type", [A], typeOf(A), (value: CelValue) => typeValueOf(value)),
  ),
  fn("dyn", global("to_dyn", [A], DYN, identity)),
  fn(
    "bool",
    global("bool_to_bool", [BOOL], BOOL, identity),
    global("string_to_bool", [STRING], BOOL, stringToBool),
  ),
  fn(
    "bytes",
    global("bytes_to_bytes", [BYTES], BYTES, identity),
    global("string_to_bytes", [STRING], BYTES, (text: string) => new TextEncoder().encode(text), {
      cost: firstArgumentCost,
      estimate: stringToBytesEstimate,
    }),
  ),
  fn(
    "double",
    global("double_to_double", [DOUBLE], DOUBLE, identity),
    global("int64_to_double", [INT], DOUBLE, (value: bigint) => Number(value)),
    global("string_to_double", [STRING], DOUBLE, stringToDouble),
    global("uint64_to_double", [UINT], DOUBLE, (value: CelUint) => Number(value.value)),
  ),
  fn(
    "duration",
    global("duration_to_duration", [DURATION], DURATION, identity),
    global("string_to_duration", [STRING], DURATION, stringToDuration),
  ),
  fn(
    "int",
    global("int64_to_int64", [INT], INT, identity),
    global("double_to_int64", [DOUBLE], INT, doubleToInt),
    global("duration_to_int64", [DURATION], INT, (value: CelDuration) => value.nanos),
    global("string_to_int64", [STRING], INT, stringToInt),
    global(
      "timestamp_to_int64",
      [TIMESTAMP],
      INT,
      (value: CelTimestamp) => split(value.nanos).seconds,
    ),
    global("uint64_to_int64", [UINT], INT, (value: CelUint) => intResult(value.value)),
  ),
  fn(
    "string",
    global("string_to_string", [STRING], STRING, identity),
    global("bool_to_string", [BOOL], STRING, (value: boolean) => String(value)),
    global("bytes_to_string", [BYTES], STRING, bytesToString, {
      cost: firstArgumentCost,
      estimate: bytesToStringEstimate,
    }),
    global("double_to_string", [DOUBLE], STRING, formatDouble),
    global("duration_to_string", [DURATION], STRING, formatDuration),
    global("int64_to_string", [INT], STRING, (value: bigint) => String(value)),
    global("timestamp_to_string", [TIMESTAMP], STRING, formatTimestamp),
    global("uint64_to_string", [UINT], STRING, (value: CelUint) => String(value.value)),
  ),
  fn(
    "timestamp",
    global("timestamp_to_timestamp", [TIMESTAMP], TIMESTAMP, identity),
    global("int64_to_timestamp", [INT], TIMESTAMP, (seconds: bigint) =>
      timestampOf(seconds * 1_000_000_000n),
    ),
    global("string_to_timestamp", [STRING], TIMESTAMP, stringToTimestamp),
  ),
  fn(
    "uint",
    global("uint64_to_uint64", [UINT], UINT, identity),
    global("double_to_uint64", [DOUBLE], UINT, doubleToUint),
    global("int64_to_uint64", [INT], UINT, (value: bigint) => uintResult(value)),
    global("string_to_uint64", [STRING], UINT, stringToUint),
  ),
];

function conversionError(from: string, to: string): CelError {
  return new CelError(`type conversion error from '${from}' to '${to}'`);
}

const TRUE_WORDS = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const FALSE_WORDS = new Set(["0", "f", "F", "false", "FALSE", "False"]);

function stringToBool(text: string): CelResult {
  if (TRUE_WORDS.has(text)) return true;
  return FALSE_WORDS.has(text) ? false : conversionError("string", "bool");
}

/** Longer texts are no 64-bit number; this bounds what BigInt has to read. */
const NUMBER_DIGITS_MAX = 64;

function stringToInt(text: string): CelResult {
  if (text.length > NUMBER_DIGITS_MAX || !/^[+-]?\d+$/.test(text))
    return conversionError("string", "int");
  const value = intResult(BigInt(text.replace(/^\+/, "")));
  return value instanceof CelError ? conversionError("string", "int") : value;
}

function stringToUint(text: string): CelResult {
  if (text.length > NUMBER_DIGITS_MAX || !/^\d+$/.test(text) || BigInt(text) > UINT_MAX) {
    return conversionError("string", "uint");
  }
  return uintResult(BigInt(text));
}

const DOUBLE_TEXT = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;

function stringToDouble(text: string): CelResult {
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  if (special !== null) {
    if (special[2]?.toLowerCase() === "nan") return Number.NaN;
    return special[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (!DOUBLE_TEXT.test(text)) return conversionError("string", "double");
  const value = Number(text);
  return Number.isFinite(value) ? value : conversionError("string", "double");
}

function stringToDuration(text: string): CelResult {
  return parseDuration(text) ?? conversionError("string", "google.protobuf.Duration");
}

function stringToTimestamp(text: string): CelResult {
  return parseTimestamp(text) ?? conversionError("string", "google.protobuf.Timestamp");
}

function bytesToString(bytes: Uint8Array): CelResult {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) {
      return new CelError("invalid UTF-8 in bytes, cannot convert to string");
    }
    throw error;
  }
}
