/** From the bytes of one object, or of one event with it, to its value: all of it, or what is wanted of it. */
import { type JsonValue, parseJson } from "@kcp-ts/machinery/json";
import { MemberPicker, type MemberTree } from "./member-picker.ts";
import { LeanParser } from "./parse-lean.ts";

export type ReadObject = (bytes: Uint8Array) => JsonValue;

/** `undefined`: everything is wanted. */
export function objectReader(wanted: MemberTree | undefined): ReadObject {
  const decoder = new TextDecoder();
  const whole = (bytes: Uint8Array) => parseJson(decoder.decode(bytes)).value;
  if (wanted === undefined) return whole;
  const picker = new MemberPicker(wanted);
  const parser = new LeanParser();
  return (bytes) => {
    const text = picker.pick(bytes);
    return text === undefined ? whole(bytes) : parser.parse(text);
  };
}

/** In one piece: most often there is only one. */
export function joined(parts: readonly Uint8Array[], last: Uint8Array): Uint8Array {
  if (parts.length === 0) return last;
  const length = parts.reduce((total, part) => total + part.length, last.length);
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  whole.set(last, at);
  return whole;
}
