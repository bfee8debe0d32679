/**
 * Order and equality.
 *
 * Numbers of different types compare as numbers; values of different types are otherwise unequal
 * and have no order. Deep comparisons count their steps, since cost tracking prices them by their
 * outermost size only.
 */
import { chargeText, type StepCounter } from "./step-counter.ts";
import { CelDuration, CelTimestamp } from "./time.ts";
import {
  CelError,
  CelList,
  CelMap,
  CelObject,
  CelOptional,
  type CelResult,
  CelStruct,
  CelTypeValue,
  CelUint,
  type CelValue,
  NO_SUCH_OVERLOAD,
} from "./value.ts";

/** Negative, zero or positive; NaN when a NaN is involved; an error when there is no order. */
export function compareValues(a: CelValue, b: CelValue): number | CelError {
  switch (typeof a) {
    case "bigint":
    case "number":
      return isNumber(b) ? compareNumbers(a, b) : NO_SUCH_OVERLOAD;
    case "string":
      return typeof b === "string" ? compareStrings(a, b) : NO_SUCH_OVERLOAD;
    case "boolean":
      return typeof b === "boolean" ? Number(a) - Number(b) : NO_SUCH_OVERLOAD;
    default:
      break;
  }
  if (a instanceof CelUint) return isNumber(b) ? compareNumbers(a, b) : NO_SUCH_OVERLOAD;
  if (a instanceof Uint8Array)
    return b instanceof Uint8Array ? compareBytes(a, b) : NO_SUCH_OVERLOAD;
  if (a instanceof CelTimestamp && b instanceof CelTimestamp)
    return compareBigints(a.nanos, b.nanos);
  if (a instanceof CelDuration && b instanceof CelDuration) return compareBigints(a.nanos, b.nanos);
  return NO_SUCH_OVERLOAD;
}

type CelNumber = bigint | number | CelUint;

function isNumber(value: CelValue): value is CelNumber {
  return typeof value === "bigint" || typeof value === "number" || value instanceof CelUint;
}

/**
 * An int and a double are compared as doubles, as cel-go does, though large ints lose digits by it.
 */
function compareNumbers(a: CelNumber, b: CelNumber): number {
  const x = a instanceof CelUint ? a.value : a;
  const y = b instanceof CelUint ? b.value : b;
  if (typeof x === "bigint" && typeof y === "bigint") return compareBigints(x, y);
  const left = Number(x);
  const right = Number(y);
  return left < right ? -1 : left > right ? 1 : left === right ? 0 : Number.NaN;
}

function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * By code point, which is the order of UTF-8 bytes; JavaScript's own order differs beyond U+FFFF.
 */
export function compareStrings(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  chargeText(length, 2);
  if (a === b) return 0;
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return codeUnitRank(x) - codeUnitRank(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above all that one unit can say. */
function codeUnitRank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  chargeText(length);
  for (let i = 0; i < length; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Whether two values are equal; an error if data met on the way does not fit its declared type. */
export function equalValues(a: CelValue, b: CelValue, steps: StepCounter): boolean | CelError {
  if (typeof a === "string") return typeof b === "string" && equalTexts(a, b);
  if (a === b) return !Number.isNaN(a);
  switch (typeof a) {
    case "boolean":
      return false;
    case "bigint":
    case "number":
      return isNumber(b) && compareNumbers(a, b) === 0;
    default:
      return a === null || b === null ? false : equalObjects(a, b, steps);
  }
}

function equalTexts(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  chargeText(a.length);
  return a === b;
}

function equalObjects(a: object, b: CelValue, steps: StepCounter): boolean | CelError {
  if (a instanceof CelList) return b instanceof CelList ? equalLists(a, b, steps) : false;
  if (a instanceof CelMap) return b instanceof CelMap ? equalMaps(a, b, steps) : false;
  if (a instanceof CelUint) return isNumber(b) && compareNumbers(a, b) === 0;
  if (a instanceof Uint8Array) {
    if (!(b instanceof Uint8Array) || a.length !== b.length) return false;
    chargeText(a.length);
    return compareBytes(a, b) === 0;
  }
  if (a instanceof CelTimestamp) return b instanceof CelTimestamp && a.nanos === b.nanos;
  if (a instanceof CelDuration) return b instanceof CelDuration && a.nanos === b.nanos;
  if (a instanceof CelTypeValue) return b instanceof CelTypeValue && a.name === b.name;
  if (a instanceof CelOptional)
    return b instanceof CelOptional ? equalOptionals(a, b, steps) : false;
  if (a instanceof CelStruct && b instanceof CelStruct) return equalStructs(a, b, steps);
  if (a instanceof CelObject && b instanceof CelObject) {
    return a.typeName === b.typeName && a.equals(b);
  }
  return false;
}

function equalStructs(a: CelStruct, b: CelStruct, steps: StepCounter): boolean | CelError {
  if (a.typeName !== b.typeName || a.fields.size !== b.fields.size) return false;
  steps.step(a.fields.size + 1);
  for (const [name, left] of a.fields) {
    const right = b.fields.get(name);
    const equal = right === undefined ? false : equalValues(left, right, steps);
    if (equal !== true) return equal;
  }
  return true;
}

function equalOptionals(a: CelOptional, b: CelOptional, steps: StepCounter): boolean | CelError {
  if (a.value === undefined || b.value === undefined) return a.value === b.value;
  return equalValues(a.value, b.value, steps);
}

/** Lists and maps that compare in their own way, such as sets and objects, have this. */
interface CustomEquality<T> {
  equalTo(other: T, steps: StepCounter): boolean | CelError;
}

function hasCustomEquality<T extends object>(collection: T): collection is T & CustomEquality<T> {
  return "equalTo" in collection;
}

function equalLists(a: CelList, b: CelList, steps: StepCounter): boolean | CelError {
  if (a.size !== b.size) return false;
  if (hasCustomEquality(a)) return a.equalTo(b, steps);
  steps.step(a.size + 1);
  for (let i = 0; i < a.size; i++) {
    const equal = equalResults(a.get(i), b.get(i), steps);
    if (equal !== true) return equal;
  }
  return true;
}

function equalMaps(a: CelMap, b: CelMap, steps: StepCounter): boolean | CelError {
  if (a.size !== b.size) return false;
  if (hasCustomEquality(a)) return a.equalTo(b, steps);
  steps.step(a.size + 1);
  for (const key of a.keys()) {
    const right = b.find(key);
    if (right === undefined) return false;
    const left = a.find(key);
    const equal = left === undefined ? false : equalResults(left, right, steps);
    if (equal !== true) return equal;
  }
  return true;
}

function equalResults(a: CelResult, b: CelResult, steps: StepCounter): boolean | CelError {
  if (a instanceof CelError) return a;
  if (b instanceof CelError) return b;
  return equalValues(a, b, steps);
}

/** Whether `list` holds a value equal to `value`. */
export function listContains(
  list: CelList,
  value: CelValue,
  steps: StepCounter,
): boolean | CelError {
  steps.step(list.size);
  let error: CelError | undefined;
  for (let i = 0; i < list.size; i++) {
    const equal = equalResults(list.get(i), value, steps);
    if (equal === true) return true;
    if (equal instanceof CelError) error ??= equal;
  }
  return error ?? false;
}
