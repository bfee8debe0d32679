/**
 * Kubernetes protobuf request bodies: the `k8s\0` envelope and any message that has a shape.
 *
 * Go clients send these for built-in kinds and do not fall back. The result is the JSON that the same client would have sent.
 * Unknown field numbers are skipped, as protobuf wants it; lengths are checked against what is there. Every field on the wire is counted before
 * anything is made of it, known or not, and so is every value of the JSON that some of them carry: an empty message takes two bytes.
 */
import {
  type Bound,
  BoundExceededError,
  bounds,
  isBoundExceeded,
  parseBoundedText,
} from "../bounds/index.ts";
import { type JsonObject, type JsonValue, setMember } from "../json/index.ts";
import type { Field, MessageShape, Shape, WireUnion } from "./shape.ts";
import { type WireField, WireReader } from "./wire-reader.ts";

export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

export interface Envelope {
  /** Empty when the sender left the type to the endpoint. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
}

/** Counts what a body has, over all its messages. */
export class FieldCount {
  readonly #bound: Bound;
  #left: number;

  constructor(bound: Bound = bounds.requestBody) {
    this.#bound = bound;
    this.#left = bound.valuesMax;
  }

  /** Fields on the wire, and values of JSON, that were read. */
  get counted(): number {
    return this.#bound.valuesMax - this.#left;
  }

  /** Throws BoundExceededError at the first one too many. */
  *fields(bytes: Uint8Array): Generator<WireField> {
    for (const field of new WireReader(bytes).fields()) {
      this.#take(1);
      yield field;
    }
  }

  json(text: string): JsonValue {
    try {
      const { value, values } = parseBoundedText({ ...this.#bound, valuesMax: this.#left }, text);
      this.#take(values);
      return value;
    } catch (error) {
      // The bound is that of the whole body.
      if (isBoundExceeded(error) && error.dimension === "values") this.#take(this.#left + 1);
      throw error;
    }
  }

  /** Throws when a map has more entries than one object may have members. */
  member(count: number): void {
    const { membersMax } = this.#bound;
    if (count > membersMax) throw new BoundExceededError(this.#bound, "members", membersMax);
  }

  #take(values: number): void {
    this.#left -= values;
    if (this.#left < 0) throw new BoundExceededError(this.#bound, "values", this.#bound.valuesMax);
  }
}

const magic = [0x6b, 0x38, 0x73, 0x00];

export function decodeEnvelope(bytes: Uint8Array, count = new FieldCount()): Envelope {
  if (bytes.length < magic.length || magic.some((byte, i) => bytes[i] !== byte)) {
    throw new ProtobufError(
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
    );
  }
  let raw: Uint8Array = new Uint8Array();
  let apiVersion = "";
  let kind = "";
  for (const field of count.fields(bytes.subarray(magic.length))) {
    if (field.number === 1) {
      for (const inner of count.fields(field.bytes())) {
        if (inner.number === 1) apiVersion = inner.string();
        else if (inner.number === 2) kind = inner.string();
      }
    } else if (field.number === 2) raw = field.bytes();
  }
  return { apiVersion, kind, raw };
}

/** Messages inside messages: a schema of the deepest permitted kind needs fewer than three hundred. */
export const messageDepthMax = 512;

export function decodeMessage(
  shape: MessageShape,
  bytes: Uint8Array,
  count = new FieldCount(),
  depth = 0,
): JsonObject {
  if (depth > messageDepthMax) {
    throw new ProtobufError(`messages are nested deeper than ${messageDepthMax} levels`);
  }
  const result: { [key: string]: JsonValue } = {};
  const decoding: Decoding = { count, depth: depth + 1, entries: undefined };
  for (const wire of count.fields(bytes)) {
    const field = shape.byNumber.get(wire.number);
    if (field !== undefined) addField(result, field, wire, decoding);
  }
  return dropEmpty(result);
}

interface Decoding {
  readonly count: FieldCount;
  readonly depth: number;
  /** Of the maps of the message, by name. */
  entries: Map<string, number> | undefined;
}

function addField(
  result: { [key: string]: JsonValue },
  field: Field,
  wire: WireField,
  decoding: Decoding,
): void {
  const { shape, name } = field;
  if (field.isInlined === true) {
    const { count, depth } = decoding;
    Object.assign(result, decodeMessage(shape as MessageShape, wire.bytes(), count, depth));
  } else if (shape.kind === "list") {
    result[name] ??= [];
    const items = result[name] as JsonValue[];
    items.push(decodeValue(shape.items, wire, decoding));
  } else if (shape.kind === "map") {
    result[name] ??= {};
    const entries = result[name] as { [key: string]: JsonValue };
    countEntry(decoding, name);
    let key = "";
    let value: JsonValue = shape.values.kind === "scalar" ? "" : {};
    for (const part of decoding.count.fields(wire.bytes())) {
      if (part.number === 1) key = part.string();
      else if (part.number === 2) value = decodeValue(shape.values, part, decoding);
    }
    setMember(entries, key, value);
  } else {
    result[name] = decodeValue(shape, wire, decoding);
  }
}

function countEntry(decoding: Decoding, name: string): void {
  decoding.entries ??= new Map();
  const entries = (decoding.entries.get(name) ?? 0) + 1;
  decoding.entries.set(name, entries);
  decoding.count.member(entries);
}

function decodeValue(shape: Shape, wire: WireField, decoding: Decoding): JsonValue {
  const { count, depth } = decoding;
  if (shape.kind === "message") return decodeMessage(shape, wire.bytes(), count, depth);
  if (shape.kind === "list") return decodeWrappedList(shape.items, wire.bytes(), decoding);
  if (shape.kind !== "scalar") throw new ProtobufError("maps of maps have no protobuf form");
  switch (shape.scalar) {
    case "string":
      return wire.string();
    case "bool":
      return wire.integer() !== 0;
    case "int32":
    case "int64":
      return wire.integer();
    case "double":
      return wire.double();
    case "bytes":
      return toBase64(wire.bytes());
    case "time":
    case "microTime":
      return decodeTime(count.fields(wire.bytes()), shape.scalar);
    case "quantity":
      return stringField(count.fields(wire.bytes()), 1);
    case "intOrString":
      return decodeIntOrString(count.fields(wire.bytes()));
    case "fields":
    case "raw":
    case "json":
      return shape.union === undefined
        ? decodeRawJson(wire.bytes(), count)
        : decodeUnion(shape.union, wire.bytes(), decoding);
  }
}

/** A schema or something else: JSON has the one that is set. */
function decodeUnion(union: WireUnion, bytes: Uint8Array, { count, depth }: Decoding): JsonValue {
  const { shape, one, many, words, flag } = union;
  const list: JsonValue[] = [];
  let value: JsonValue | undefined;
  let isAllowed = false;
  for (const field of count.fields(bytes)) {
    if (field.number === one) value = decodeMessage(shape, field.bytes(), count, depth);
    else if (field.number === many) list.push(decodeMessage(shape, field.bytes(), count, depth));
    else if (field.number === words) list.push(field.string());
    else if (field.number === flag) isAllowed = field.integer() !== 0;
  }
  return value ?? (flag === undefined ? list : isAllowed);
}

/** Where protobuf cannot repeat, a list is a message of its own: `ExtraValue{repeated string items = 1}`. */
function decodeWrappedList(items: Shape, bytes: Uint8Array, decoding: Decoding): JsonValue {
  const result: JsonValue[] = [];
  for (const field of decoding.count.fields(bytes))
    if (field.number === 1) result.push(decodeValue(items, field, decoding));
  return result;
}

/** An empty message is Go's zero time, which JSON has as null. */
function decodeTime(fields: Iterable<WireField>, type: "time" | "microTime"): string | null {
  let seconds = 0;
  let nanos = 0;
  let isZero = true;
  for (const field of fields) {
    isZero = false;
    if (field.number === 1) seconds = Number(field.integer());
    else if (field.number === 2) nanos = Number(field.integer());
  }
  if (isZero) return null;
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new ProtobufError(`time ${seconds} is out of range`);
  const whole = date.toISOString().slice(0, 19);
  return type === "time"
    ? `${whole}Z`
    : `${whole}.${String(Math.trunc(nanos / 1000)).padStart(6, "0")}Z`;
}

function decodeIntOrString(fields: Iterable<WireField>): JsonValue {
  let isString = false;
  let number: JsonValue = 0;
  let text = "";
  for (const field of fields) {
    if (field.number === 1) isString = field.integer() === 1;
    else if (field.number === 2) number = field.integer();
    else if (field.number === 3) text = field.string();
  }
  return isString ? text : number;
}

function stringField(fields: Iterable<WireField>, number: number): string {
  let text = "";
  for (const field of fields) if (field.number === number) text = field.string();
  return text;
}

function decodeRawJson(bytes: Uint8Array, count: FieldCount): JsonValue {
  const text = stringField(count.fields(bytes), 1);
  return text === "" ? {} : count.json(text);
}

/** Protobuf cannot tell nil from empty; JSON clients leave both out. */
function dropEmpty(object: { [key: string]: JsonValue }): JsonObject {
  for (const [key, value] of Object.entries(object)) {
    const isNothing =
      value === "" || value === null || (Array.isArray(value) && value.length === 0);
    if (isNothing) delete object[key];
  }
  return object;
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(binary);
}
