/**
 * Values that are small messages in protobuf, and a text or a number in JSON. The reader is after
 * their tag, and afterwards after their value.
 */
import type { Resumable } from "../base/index.ts";
import type { JsonValue } from "../json/index.ts";
import type { FieldCount } from "./field-count.ts";
import { WireError, type WireReader } from "./wire-reader.ts";

/** An empty message is Go's zero time, which JSON has as null. */
export function decodeTime(
  reader: WireReader,
  count: FieldCount,
  type: "time" | "microTime",
): string | null {
  let seconds = 0;
  let nanos = 0;
  let isZero = true;
  for (const end = reader.enter(); reader.at < end; ) {
    count.next(reader, end);
    isZero = false;
    if (reader.number === 1) seconds = Number(reader.integer());
    else if (reader.number === 2) nanos = Number(reader.integer());
  }
  if (isZero) return null;
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) throw new WireError(`time ${seconds} is out of range`);
  const whole = date.toISOString().slice(0, 19);
  return type === "time"
    ? `${whole}Z`
    : `${whole}.${String(Math.trunc(nanos / 1000)).padStart(6, "0")}Z`;
}

export function decodeIntOrString(reader: WireReader, count: FieldCount): JsonValue {
  let isString = false;
  let number: JsonValue = 0;
  let text = "";
  for (const end = reader.enter(); reader.at < end; ) {
    count.next(reader, end);
    if (reader.number === 1) isString = reader.integer() === 1;
    else if (reader.number === 2) number = reader.integer();
    else if (reader.number === 3) text = reader.string();
  }
  return isString ? text : number;
}

/** The text of one of the fields; the last one where it is repeated. */
export function stringField(reader: WireReader, count: FieldCount, number: number): string {
  let text = "";
  for (const end = reader.enter(); reader.at < end; ) {
    count.next(reader, end);
    if (reader.number === number) text = reader.string();
  }
  return text;
}

/** Bytes that are encoded per step: a multiple of three, so that only the last part is padded. */
const base64Bytes = 6 << 10;

export function* toBase64(bytes: Uint8Array): Resumable<string> {
  let text = "";
  for (let at = 0; at < bytes.length; at += base64Bytes) {
    if (at > 0) yield;
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + base64Bytes)));
  }
  return text;
}
