/**
 * JSON from tenants: values, and the only safe ways to put their keys into objects.
 *
 * Integers beyond 2^53 are `bigint`s (see parse.ts), so that an int64 survives a round trip.
 */
import type { Resumable } from "../base/index.ts";

export type JsonScalar = string | number | bigint | boolean | null;
export type JsonValue = JsonScalar | JsonArray | JsonObject;
export type JsonArray = readonly JsonValue[];
export interface JsonObject {
  readonly [key: string]: JsonValue;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON text of a value, big integers included. Compact, members in their own order. */
export function stringifyJson(value: JsonValue): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // JSON.stringify throws a TypeError for bigints, and only for them: values from the parser have
    // no cycles.
    if (!(error instanceof TypeError)) throw error;
    return stringifyExact(value);
  }
}

function stringifyExact(value: JsonValue): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value))
    return `[${value.map((item) => stringifyExact(item as JsonValue)).join(",")}]`;
  const members: string[] = [];
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) members.push(`${JSON.stringify(key)}:${stringifyExact(item)}`);
  }
  return `{${members.join(",")}}`;
}

/** The own property, never an inherited one: `member({}, "constructor")` is undefined. */
export function member(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own property of any name; plain assignment of `__proto__` would change the prototype. */
export function setMember(
  object: { [key: string]: JsonValue },
  key: string,
  value: JsonValue,
): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  } else {
    object[key] = value;
  }
}

/** Whether an object has no members, without listing them. */
export function isEmptyObject(object: object): boolean {
  for (const _ in object) return false;
  return true;
}

/**
 * A shallow copy. Not by `{ ...object }`, after which V8 creates a hidden class for every member
 * that is added to the copy: see `withMember`.
 */
export function shallowCopy(object: JsonObject): { [key: string]: JsonValue } {
  const copy: { [key: string]: JsonValue } = {};
  for (const key in object) setMember(copy, key, object[key] as JsonValue);
  return copy;
}

/**
 * A copy with one more member at the end. Not by `{ ...object, [name]: value }`: V8 creates a
 * hidden class for every object that gets a new member after a spread, which costs more than the
 * copy, and every read of such an object misses the inline caches.
 */
export function withMember(
  object: JsonObject,
  name: string,
  value: JsonValue,
): { [key: string]: JsonValue } {
  const copy = shallowCopy(object);
  setMember(copy, name, value);
  return copy;
}

/** A deep copy without shared parts. The parser has bounded the depth of the value. */
export function cloneJson<Value extends JsonValue>(value: Value): Value {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(cloneJson) as unknown as Value;
  const copy: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(value))
    setMember(copy, key, cloneJson((value as JsonObject)[key] as JsonValue));
  return copy as unknown as Value;
}

/** The same, yielding after every few thousand values. */
export function* cloneResumable<Value extends JsonValue>(
  value: Value,
  piece = { left: clonedAtOnce },
): Resumable<Value> {
  if (typeof value !== "object" || value === null) return value;
  const keys = Array.isArray(value) ? undefined : Object.keys(value);
  const source = value as unknown as { readonly [key: string | number]: JsonValue };
  const copy = (keys === undefined ? [] : {}) as { [key: string | number]: JsonValue };
  const { length } = keys ?? (value as unknown as readonly JsonValue[]);
  for (let i = 0; i < length; i++) {
    if (--piece.left === 0) {
      yield;
      piece.left = clonedAtOnce;
    }
    const key = keys === undefined ? i : (keys[i] as string);
    const each = source[key] as JsonValue;
    const isSimple = typeof each !== "object" || each === null;
    const member = isSimple ? each : yield* cloneResumable(each, piece);
    if (typeof key === "number") copy[key] = member;
    else setMember(copy, key, member);
  }
  return copy as unknown as Value;
}

const clonedAtOnce = 5_000;

export interface ValueLimits {
  /** Values, the outermost included. */
  readonly valuesMax: number;
  /** Members of one object. */
  readonly membersMax: number;
}

/**
 * The limit that a value exceeds, as a text for users; undefined if none. Reads no more of the
 * value than needed.
 */
export function exceededLimit(
  value: JsonValue,
  { valuesMax, membersMax }: ValueLimits,
): string | undefined {
  const pending: JsonValue[] = [value];
  let count = 1;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next !== "object" || next === null) continue;
    const members = Array.isArray(next) ? next : (Object.values(next) as JsonValue[]);
    if (members !== next && members.length > membersMax)
      return `limit is ${membersMax} members of one object`;
    count += members.length;
    if (count > valuesMax) return `limit is ${valuesMax} values`;
    for (const each of members) if (typeof each === "object") pending.push(each);
  }
  return undefined;
}

/** The number of values: objects, arrays and their members. */
export function countValues(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 1;
  let count = 1;
  if (Array.isArray(value)) for (const item of value) count += countValues(item as JsonValue);
  else for (const name in value) count += countValues((value as JsonObject)[name] ?? null);
  return count;
}

/** Reads no more of the value than needed. */
export function hasAtMost(values: number, value: JsonValue): boolean {
  return countDown(value, values) >= 0;
}

/**
 * The number of values less those of `value`; negative, and no longer exact, when they are more.
 */
function countDown(value: JsonValue, values: number): number {
  let left = values - 1;
  if (typeof value !== "object" || value === null) return left;
  if (Array.isArray(value)) {
    if (value.length > left) return -1;
    for (const item of value as readonly JsonValue[]) {
      left = countDown(item, left);
      if (left < 0) return left;
    }
    return left;
  }
  for (const name in value) {
    if (left < 0) return left;
    const member = (value as JsonObject)[name];
    if (member !== undefined) left = countDown(member, left);
  }
  return left;
}

/** The most members of a small object. */
const smallMembersMax = 4;

/**
 * A scalar, or an object of a few scalars, as most schemas and items are: resumable work processes
 * it at once, because a generator for it would take more memory than its text.
 */
export function isSmall(value: JsonValue): boolean {
  if (isPlain(value)) return true;
  if (!isJsonObject(value)) return false;
  let members = 0;
  for (const name in value) {
    if (++members > smallMembersMax || !isPlain(value[name] as JsonValue)) return false;
  }
  return true;
}

/**
 * A scalar, or an empty container. Strings are never cut: a megabyte of text takes a millisecond.
 */
export function isPlain(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.length === 0;
  for (const _ in value) return false;
  return true;
}
