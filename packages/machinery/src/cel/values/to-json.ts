/** A value as plain JSON, for messages, audit annotations and mutations. */
import { REQUEST_BYTES_MAX } from "../limits.ts";
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

interface Room {
  left: number;
}

/** Deepest nesting that is converted. */
const DEPTH_MAX = 500;

/**
 * The JSON of a value; an error for what has none, such as a type or a URL. Ints that a double
 * cannot hold stay bigints. Data that came in unchanged goes out as it is, not copied.
 */
export function toJson(value: CelResult): unknown | CelError {
  return convert(value, 0, { left: JSON_SIZE_MAX });
}

/**
 * The maximum number of elements, and characters of texts, to convert. An expression builds a list
 * that contains another one many times at the cost of one, and such nesting is exponentially large
 * once it is written out.
 */
const JSON_SIZE_MAX = REQUEST_BYTES_MAX;
const NOT_JSON = new CelError("json: unsupported value: a double that is no finite number");
const TOO_LARGE = new CelError("value is too large");

function convert(value: CelResult, depth: number, room: Room): unknown | CelError {
  room.left -= typeof value === "string" ? value.length + 1 : 1;
  if (room.left < 0) return TOO_LARGE;
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
    return value.value === undefined ? null : convert(value.value, depth + 1, room);
  if (
    value instanceof JsonListView ||
    value instanceof JsonMapView ||
    value instanceof JsonObjectView
  ) {
    return value.raw;
  }
  if (value instanceof CelList) return listToJson(value, depth, room);
  if (value instanceof CelMap)
    return entriesToJson(value.keys(), (key) => value.find(key), depth, room);
  if (value instanceof CelStruct) {
    return entriesToJson([...value.fields.keys()], (key) => value.select(String(key)), depth, room);
  }
  return new CelError("type has no JSON form");
}

function integerToJson(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function listToJson(list: CelList, depth: number, room: Room): unknown | CelError {
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  const converted: unknown[] = [];
  for (const element of elements) {
    const json = convert(element, depth + 1, room);
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
  room: Room,
): unknown | CelError {
  const object: Record<string, unknown> = Object.create(null);
  for (const key of keys) {
    const json = convert(find(key) ?? null, depth + 1, room);
    if (json instanceof CelError) return json;
    object[key instanceof CelUint ? String(key.value) : String(key)] = json;
  }
  return object;
}
