/**
 * Kubernetes protobuf request bodies: the `k8s\0` envelope and any message that has a shape.
 *
 * Go clients send these for built-in kinds and do not fall back. The result is the JSON that the same client would have sent.
 * Unknown field numbers are skipped, as protobuf wants it; lengths are checked against what is there.
 */
import { type JsonObject, type JsonValue, parseJson, setMember } from "../json/index.ts";
import type { Field, MessageShape, Shape, WireUnion } from "./shape.ts";
import { WireReader } from "./wire-reader.ts";

export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
}

export interface Envelope {
  /** Empty when the sender left the type to the endpoint. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
}

const magic = [0x6b, 0x38, 0x73, 0x00];

export function decodeEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length < magic.length || magic.some((byte, i) => bytes[i] !== byte)) {
    throw new ProtobufError(
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
    );
  }
  let raw: Uint8Array = new Uint8Array();
  let apiVersion = "";
  let kind = "";
  for (const field of new WireReader(bytes.subarray(magic.length)).fields()) {
    if (field.number === 1) {
      for (const inner of new WireReader(field.bytes()).fields()) {
        if (inner.number === 1) apiVersion = inner.string();
        else if (inner.number === 2) kind = inner.string();
      }
    } else if (field.number === 2) raw = field.bytes();
  }
  return { apiVersion, kind, raw };
}

/** Messages inside messages: a schema of the deepest permitted kind needs fewer than three hundred. */
export const messageDepthMax = 512;

export function decodeMessage(shape: MessageShape, bytes: Uint8Array, depth = 0): JsonObject {
  if (depth > messageDepthMax) {
    throw new ProtobufError(`messages are nested deeper than ${messageDepthMax} levels`);
  }
  const result: { [key: string]: JsonValue } = {};
  for (const wire of new WireReader(bytes).fields()) {
    const field = shape.byNumber.get(wire.number);
    if (field !== undefined) addField(result, field, wire, depth + 1);
  }
  return dropEmpty(result);
}

type WireField = ReturnType<WireReader["fields"]> extends Iterable<infer Item> ? Item : never;

function addField(
  result: { [key: string]: JsonValue },
  field: Field,
  wire: WireField,
  depth: number,
): void {
  const { shape, name } = field;
  if (field.isInlined === true) {
    Object.assign(result, decodeMessage(shape as MessageShape, wire.bytes(), depth));
  } else if (shape.kind === "list") {
    result[name] ??= [];
    const items = result[name] as JsonValue[];
    items.push(decodeValue(shape.items, wire, depth));
  } else if (shape.kind === "map") {
    result[name] ??= {};
    const entries = result[name] as { [key: string]: JsonValue };
    let key = "";
    let value: JsonValue = shape.values.kind === "scalar" ? "" : {};
    for (const part of new WireReader(wire.bytes()).fields()) {
      if (part.number === 1) key = part.string();
      else if (part.number === 2) value = decodeValue(shape.values, part, depth);
    }
    setMember(entries, key, value);
  } else {
    result[name] = decodeValue(shape, wire, depth);
  }
}

function decodeValue(shape: Shape, wire: WireField, depth: number): JsonValue {
  if (shape.kind === "message") return decodeMessage(shape, wire.bytes(), depth);
  if (shape.kind === "list") return decodeWrappedList(shape.items, wire.bytes(), depth);
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
      return decodeTime(wire.bytes(), shape.scalar);
    case "quantity":
      return stringField(wire.bytes(), 1);
    case "intOrString":
      return decodeIntOrString(wire.bytes());
    case "fields":
    case "raw":
    case "json":
      return shape.union === undefined
        ? decodeRawJson(wire.bytes())
        : decodeUnion(shape.union, wire.bytes(), depth);
  }
}

/** A schema or something else: JSON has the one that is set. */
function decodeUnion(union: WireUnion, bytes: Uint8Array, depth: number): JsonValue {
  const { shape, one, many, words, flag } = union;
  const list: JsonValue[] = [];
  let value: JsonValue | undefined;
  let isAllowed = false;
  for (const field of new WireReader(bytes).fields()) {
    if (field.number === one) value = decodeMessage(shape, field.bytes(), depth);
    else if (field.number === many) list.push(decodeMessage(shape, field.bytes(), depth));
    else if (field.number === words) list.push(field.string());
    else if (field.number === flag) isAllowed = field.integer() !== 0;
  }
  return value ?? (flag === undefined ? list : isAllowed);
}

/** Where protobuf cannot repeat, a list is a message of its own: `ExtraValue{repeated string items = 1}`. */
function decodeWrappedList(items: Shape, bytes: Uint8Array, depth: number): JsonValue {
  const result: JsonValue[] = [];
  for (const field of new WireReader(bytes).fields())
    if (field.number === 1) result.push(decodeValue(items, field, depth));
  return result;
}

/** An empty message is Go's zero time, which JSON has as null. */
function decodeTime(bytes: Uint8Array, type: "time" | "microTime"): string | null {
  if (bytes.length === 0) return null;
  let seconds = 0;
  let nanos = 0;
  for (const field of new WireReader(bytes).fields()) {
    if (field.number === 1) seconds = Number(field.integer());
    else if (field.number === 2) nanos = Number(field.integer());
  }
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new ProtobufError(`time ${seconds} is out of range`);
  const whole = date.toISOString().slice(0, 19);
  return type === "time"
    ? `${whole}Z`
    : `${whole}.${String(Math.trunc(nanos / 1000)).padStart(6, "0")}Z`;
}

function decodeIntOrString(bytes: Uint8Array): JsonValue {
  let isString = false;
  let number: JsonValue = 0;
  let text = "";
  for (const field of new WireReader(bytes).fields()) {
    if (field.number === 1) isString = field.integer() === 1;
    else if (field.number === 2) number = field.integer();
    else if (field.number === 3) text = field.string();
  }
  return isString ? text : number;
}

function stringField(bytes: Uint8Array, number: number): string {
  let text = "";
  for (const field of new WireReader(bytes).fields())
    if (field.number === number) text = field.string();
  return text;
}

function decodeRawJson(bytes: Uint8Array): JsonValue {
  const text = stringField(bytes, 1);
  return text === "" ? {} : parseJson(text).value;
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
