/**
 * Decodes JSON as a shape: type errors with the texts of Go's decoder, unknown fields collected and
 * left out.
 *
 * Names are case-sensitive. Null stands for absent. The result shares nothing with the input that
 * the caller could change.
 */
import { type Resumable, YieldCounter } from "../base/index.ts";
import {
  isJsonObject,
  isSmall,
  type JsonObject,
  type JsonValue,
  setMember,
} from "../json/index.ts";
import { isPlainTime, parseGoTime } from "./go-time.ts";
import { isOmittedWhenEmpty } from "./omit-empty.ts";
import { parseQuantity } from "./quantity.ts";
import type { MessageShape, ScalarType, Shape } from "./shape.ts";

/**
 * The value does not match the shape; the message is the text after `cannot be handled as a Kind:
 * `.
 */
export class ShapeError extends Error {
  override readonly name = "ShapeError";
}

export interface Decoded {
  readonly value: JsonObject;
  /** Paths such as `spec.foo` of members that the shape does not have. */
  readonly unknownFields: readonly string[];
}

export function decodeShape(shape: MessageShape, value: JsonValue): Decoded {
  const decoder = new ShapeDecoder();
  return { value: decoder.message(shape, value), unknownFields: decoder.unknownFields };
}

/** The same for decoded protobuf, which has no empty lists: required lists become empty ones. */
export function decodeShapeOfProtobuf(shape: MessageShape, value: JsonValue): Decoded {
  const decoder = new ShapeDecoder({ givesLists: true });
  return { value: decoder.message(shape, value), unknownFields: decoder.unknownFields };
}

/** The same for a large value, resumably. */
export function* decodeShapeResumable(shape: MessageShape, value: JsonValue): Resumable<Decoded> {
  const decoder = new ShapeDecoder();
  const decoded = yield* decoder.messageResumable(shape, value);
  return { value: decoded, unknownFields: decoder.unknownFields };
}

/** Items and members of a large value between two yields. */
const readAtOnce = 500;

class ShapeDecoder {
  readonly unknownFields: string[] = [];
  readonly #pace = new YieldCounter(readAtOnce);
  /** The way to the current value: fields and keys of maps are texts, indexes are numbers. */
  readonly #path: (string | number)[] = [];
  /** The same in Go's form: the innermost struct and its fields, without map keys and indexes. */
  #struct: MessageShape | undefined;
  readonly #fields: string[] = [];
  readonly #givesLists: boolean;

  constructor({ givesLists = false } = {}) {
    this.#givesLists = givesLists;
  }

  message(shape: MessageShape, value: JsonValue): JsonObject {
    if (!isJsonObject(value)) throw this.#mismatch(value, goTypeOf(shape));
    const struct = this.#struct;
    const result: { [key: string]: JsonValue } = {};
    for (const key of Object.keys(value)) {
      const item = value[key] as JsonValue;
      const field = shape.fields.get(key);
      if (field === undefined) {
        this.#unknown(key, item, result);
      } else if (item !== null) {
        this.#struct = shape;
        this.#path.push(key);
        this.#fields.push(key);
        const read = this.#value(field.shape, item);
        this.#path.pop();
        this.#fields.pop();
        if (!isOmittedWhenEmpty(shape, field, read)) result[key] = read;
      }
    }
    if (this.#givesLists) giveRequiredLists(shape, result);
    this.#struct = struct;
    return result;
  }

  /** The kind and its version belong to no shape. */
  #unknown(key: string, item: JsonValue, result: { [key: string]: JsonValue }): void {
    const isOutermost = this.#path.length === 0;
    if (isOutermost && (key === "kind" || key === "apiVersion")) result[key] = item;
    else this.unknownFields.push(pathText([...this.#path, key]));
  }

  *messageResumable(shape: MessageShape, value: JsonValue): Resumable<JsonObject> {
    if (!isJsonObject(value)) throw this.#mismatch(value, goTypeOf(shape));
    const struct = this.#struct;
    const result: { [key: string]: JsonValue } = {};
    for (const key of Object.keys(value)) {
      if (this.#pace.isTime()) yield;
      const item = value[key] as JsonValue;
      const field = shape.fields.get(key);
      if (field === undefined) {
        this.#unknown(key, item, result);
      } else if (item !== null) {
        this.#struct = shape;
        this.#path.push(key);
        this.#fields.push(key);
        // Testing whether a large map is empty takes as long as iterating over it: its keys are
        // listed once.
        const keys =
          field.shape.kind === "map" && isJsonObject(item) ? Object.keys(item) : undefined;
        const read =
          field.shape.kind === "scalar" || isSmall(item)
            ? this.#value(field.shape, item)
            : yield* this.#valueResumable(field.shape, item, keys);
        this.#path.pop();
        this.#fields.pop();
        const { length } = keys ?? (Array.isArray(read) ? read : []);
        if (length > 0 || !isOmittedWhenEmpty(shape, field, read)) result[key] = read;
      }
    }
    this.#struct = struct;
    return result;
  }

  /** `keys` are those of a map, where they are known. */
  *#valueResumable(shape: Shape, value: JsonValue, keys?: readonly string[]): Resumable<JsonValue> {
    if (shape.kind === "message") return yield* this.messageResumable(shape, value);
    if (shape.kind === "list" && Array.isArray(value)) {
      const result: JsonValue[] = [];
      for (let i = 0; i < value.length; i++) {
        if (this.#pace.isTime()) yield;
        const item = value[i] as JsonValue;
        this.#path.push(i);
        result.push(
          isSmall(item)
            ? this.#entry(shape.items, item)
            : yield* this.#valueResumable(shape.items, item),
        );
        this.#path.pop();
      }
      return result;
    }
    if (shape.kind === "map" && isJsonObject(value)) {
      const { values } = shape;
      const result: { [key: string]: JsonValue } = {};
      for (const key of keys ?? Object.keys(value)) {
        if (this.#pace.isTime()) yield;
        const item = value[key] as JsonValue;
        this.#path.push(key);
        const read = isSmall(item)
          ? this.#entry(values, item)
          : yield* this.#valueResumable(values, item);
        this.#path.pop();
        setMember(result, key, read);
      }
      return result;
    }
    return this.#value(shape, value);
  }

  /** Null is the zero value in Go. */
  #entry(shape: Shape, value: JsonValue): JsonValue {
    return value === null ? zeroOf(shape) : this.#value(shape, value);
  }

  #value(shape: Shape, value: JsonValue): JsonValue {
    switch (shape.kind) {
      case "message":
        return this.message(shape, value);
      case "list":
        return this.#list(shape.items, value);
      case "map":
        return this.#map(shape.values, value);
      case "scalar":
        return this.#scalar(shape.scalar, value);
    }
  }

  #list(items: Shape, value: JsonValue): JsonValue {
    if (!Array.isArray(value)) throw this.#mismatch(value, `[]${goTypeOf(items)}`);
    const result: JsonValue[] = [];
    for (let i = 0; i < value.length; i++) {
      const item = value[i] as JsonValue;
      this.#path.push(i);
      result.push(this.#entry(items, item));
      this.#path.pop();
    }
    return result;
  }

  #map(values: Shape, value: JsonValue): JsonValue {
    if (!isJsonObject(value)) throw this.#mismatch(value, `map[string]${goTypeOf(values)}`);
    const result: { [key: string]: JsonValue } = {};
    for (const key of Object.keys(value)) {
      this.#path.push(key);
      setMember(result, key, this.#entry(values, value[key] as JsonValue));
      this.#path.pop();
    }
    return result;
  }

  #scalar(type: ScalarType, value: JsonValue): JsonValue {
    if (type === "json" || type === "fields") return value;
    if (type === "raw") {
      if (isJsonObject(value)) return value;
    } else if (type === "quantity") {
      if (typeof value === "string" || typeof value === "number" || typeof value === "bigint")
        return readQuantity(String(value));
    } else if (type === "intOrString") {
      if (typeof value === "string" || typeof value === "number" || typeof value === "bigint")
        return value;
    } else if (type === "bool") {
      if (typeof value === "boolean") return value;
    } else if (type === "int32" || type === "int64") {
      if (typeof value === "bigint" && type === "int64") return value;
      if (typeof value === "number") {
        if (
          Number.isInteger(value) &&
          (type === "int64" || (value >= -(2 ** 31) && value < 2 ** 31))
        )
          return value;
        throw this.#mismatch(`number ${value}`, type, "word");
      }
    } else if (type === "double") {
      if (typeof value === "number" || typeof value === "bigint") return value;
    } else if (typeof value === "string") {
      if (type === "bytes") return this.#bytes(value);
      if (type === "time" || type === "microTime") return readTime(value, type);
      return value;
    }
    throw this.#mismatch(value, type);
  }

  #bytes(value: string): string {
    if (isBase64(value)) return value;
    const at = value.search(/[^A-Za-z0-9+/]/);
    throw new ShapeError(
      `illegal base64 data at input byte ${at < 0 ? Math.max(0, value.length - (value.length % 4)) : at}`,
    );
  }

  #mismatch(value: JsonValue, type: string, as: "value" | "word" = "value"): ShapeError {
    const found = as === "word" ? String(value) : jsonWord(value);
    const goType = type === "bytes" ? "[]uint8" : (goScalar.get(type) ?? type);
    return new ShapeError(
      this.#fields.length === 0
        ? `json: cannot unmarshal ${found} into Go value of type ${goType}`
        : `json: cannot unmarshal ${found} into Go struct field ${nameOf(this.#struct)}.${this.#fields.join(".")} of type ${goType}`,
    );
  }
}

/** `spec.containers[0].name`. */
function pathText(path: readonly (string | number)[]): string {
  let text = "";
  for (const part of path)
    text += typeof part === "number" ? `[${part}]` : text === "" ? part : `.${part}`;
  return text;
}

function nameOf(struct: MessageShape | undefined): string {
  return struct === undefined ? "" : shortName(struct);
}

function giveRequiredLists(
  { required, fields }: MessageShape,
  result: { [key: string]: JsonValue },
): void {
  for (const name of required) if (fields.get(name)?.shape.kind === "list") result[name] ??= [];
}

function readQuantity(text: string): string {
  const parsed = parseQuantity(text.trim());
  if ("error" in parsed) throw new ShapeError(parsed.error);
  return parsed.canonical;
}

/** In UTC, with the digits that the type has: whole seconds, or exactly six of a second. */
function readTime(value: string, type: "time" | "microTime"): string {
  const isMicro = type === "microTime";
  if (isPlainTime(value, isMicro ? "2006-01-02T15:04:05.000000Z" : "2006-01-02T15:04:05Z"))
    return value;
  const parsed = parseGoTime(
    value,
    isMicro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00",
  );
  if ("error" in parsed) throw new ShapeError(parsed.error);
  const seconds = new Date(parsed.atMs).toISOString().slice(0, 19);
  return isMicro ? `${seconds}.${parsed.fraction}Z` : `${seconds}Z`;
}

const goScalar = new Map([
  ["double", "float64"],
  ["microTime", "string"],
  ["time", "string"],
  ["raw", "map[string]interface {}"],
]);

/** Standard base64 with padding; checked without decoding, because values can be large. */
export function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}

function jsonWord(value: JsonValue): string {
  if (Array.isArray(value)) return "array";
  if (value === null) return "null";
  return typeof value === "boolean" ? "bool" : typeof value === "bigint" ? "number" : typeof value;
}

function zeroOf(shape: Shape): JsonValue {
  if (shape.kind === "message" || shape.kind === "map") return {};
  if (shape.kind === "list") return [];
  if (shape.scalar === "bool") return false;
  return shape.scalar === "int32" || shape.scalar === "int64" || shape.scalar === "double" ? 0 : "";
}

function goTypeOf(shape: Shape): string {
  switch (shape.kind) {
    case "message":
      return `${packageOf(shape.name)}.${shortName(shape)}`;
    case "list":
      return `[]${goTypeOf(shape.items)}`;
    case "map":
      return `map[string]${goTypeOf(shape.values)}`;
    case "scalar":
      return shape.scalar === "bytes" ? "[]uint8" : (goScalar.get(shape.scalar) ?? shape.scalar);
  }
}

function shortName(shape: MessageShape): string {
  return shape.name.slice(shape.name.lastIndexOf(".") + 1);
}

function packageOf(name: string): string {
  return name.split(".").at(-2) ?? "v1";
}
