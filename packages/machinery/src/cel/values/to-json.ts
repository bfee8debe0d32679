/** A value as plain JSON, for messages, audit annotations and mutations. */
import { JSON_VALUES_MAX, REQUEST_BYTES_MAX } from "../limits.ts";
import { encodeBase64 } from "./base64.ts";
import { elementsOf } from "./collections.ts";
import { JsonListView, JsonMapView, JsonObjectView } from "./json-view.ts";
import { CelDuration, CelTimestamp, formatDuration, formatTimestamp } from "./time.ts";
import {
  CelError,
  CelList,
  CelMap,
  CelOptional,
  type CelResult,
  CelStruct,
  CelUint,
  type CelValue,
} from "./value.ts";

/** What is left for results: several that are put together share it. */
export interface JsonCapacity {
  values: number;
  characters: number;
}

export function jsonCapacity(): JsonCapacity {
  return { values: JSON_VALUES_MAX, characters: REQUEST_BYTES_MAX };
}

/** Deepest nesting that is converted. */
const DEPTH_MAX = 500;

/**
 * The JSON of a value; an error for what has none, such as a type or a URL. Ints that a double
 * cannot hold stay bigints. Data that came in unchanged goes out as it is, not copied.
 */
export function toJson(
  value: CelResult,
  capacity: JsonCapacity = jsonCapacity(),
): unknown | CelError {
  return convert(value, 0, capacity);
}

const NOT_JSON = new CelError("json: unsupported value: a double that is no finite number");
const TOO_LARGE = new CelError("value is too large");

function convert(value: CelResult, depth: number, capacity: JsonCapacity): unknown | CelError {
  if (!take(capacity, value)) return TOO_LARGE;
  if (depth > DEPTH_MAX) return new CelError("value is nested too deeply");
  if (value instanceof CelError) return value;
  if (typeof value === "bigint") return integerToJson(value);
  if (typeof value === "number" && !Number.isFinite(value)) return NOT_JSON;
  if (value === null || typeof value !== "object") return value;
  if (value instanceof CelUint) return integerToJson(value.value);
  if (value instanceof Uint8Array) return encodeBase64(value);
  if (value instanceof CelTimestamp) return formatTimestamp(value);
  if (value instanceof CelDuration) return formatDuration(value);
  if (value instanceof CelOptional)
    return value.value === undefined ? null : convert(value.value, depth + 1, capacity);
  if (
    value instanceof JsonListView ||
    value instanceof JsonMapView ||
    value instanceof JsonObjectView
  ) {
    return takeMembers(capacity, value.raw) ? value.raw : TOO_LARGE;
  }
  if (value instanceof CelList) return listToJson(value, depth, capacity);
  if (value instanceof CelMap)
    return entriesToJson(value.keys(), (key) => value.find(key), depth, capacity);
  if (value instanceof CelStruct) {
    return entriesToJson(
      [...value.fields.keys()],
      (key) => value.select(String(key)),
      depth,
      capacity,
    );
  }
  return new CelError("type has no JSON form");
}

/**
 * Counts a value, wherever it occurs again: an expression builds a list that contains another one,
 * or the object's own data, many times at the cost of one, and such nesting is exponentially large
 * once it is written out or copied.
 */
function take(capacity: JsonCapacity, value: unknown): boolean {
  capacity.values--;
  if (typeof value === "string" || value instanceof Uint8Array) capacity.characters -= value.length;
  return capacity.values >= 0 && capacity.characters >= 0;
}

/** Reads no more of the data than there is capacity for. */
function takeMembers(capacity: JsonCapacity, raw: object): boolean {
  if (Array.isArray(raw)) return raw.every((item) => takeData(capacity, item));
  for (const [key, value] of Object.entries(raw)) {
    capacity.characters -= key.length;
    if (!takeData(capacity, value)) return false;
  }
  return true;
}

function takeData(capacity: JsonCapacity, value: unknown): boolean {
  if (!take(capacity, value)) return false;
  return typeof value !== "object" || value === null || takeMembers(capacity, value);
}

function integerToJson(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function listToJson(list: CelList, depth: number, capacity: JsonCapacity): unknown | CelError {
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  const converted: unknown[] = [];
  for (const element of elements) {
    const json = convert(element, depth + 1, capacity);
    if (json instanceof CelError) return json;
    converted.push(json);
  }
  return converted;
}

/** The result has no prototype, so that no key has a special meaning. */
function entriesToJson(
  keys: readonly CelValue[],
  find: (key: CelValue) => CelResult | undefined,
  depth: number,
  capacity: JsonCapacity,
): unknown | CelError {
  const object: Record<string, unknown> = Object.create(null);
  for (const key of keys) {
    const json = convert(find(key) ?? null, depth + 1, capacity);
    if (json instanceof CelError) return json;
    const name = key instanceof CelUint ? String(key.value) : String(key);
    capacity.characters -= name.length;
    object[name] = json;
  }
  return object;
}
