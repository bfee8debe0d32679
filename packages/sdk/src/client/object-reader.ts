/** From the bytes of one object, or of one event with it, to its value: all of it, or what is wanted of it. */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import type { Bound } from "@kcp-ts/machinery/bounds";
import { type JsonValue, parseJson, parseResumable } from "@kcp-ts/machinery/json";
import { parseWithinLimit } from "./answer-bounds.ts";
import { MemberPicker, type MemberTree } from "./member-picker.ts";
import { NonInterningParser } from "./parse-lean.ts";

export type ReadObject = (bytes: Uint8Array) => JsonValue;

/** `undefined`: everything is wanted. */
export function objectReader(wanted: MemberTree | undefined): ReadObject {
  const decoder = new TextDecoder();
  const whole = (bytes: Uint8Array) => parseJson(decoder.decode(bytes)).value;
  if (wanted === undefined) return whole;
  const readWanted = wantedReader(wanted);
  return (bytes) => readWanted(bytes) ?? whole(bytes);
}

/** What is wanted of an object; undefined where that cannot be cut out. */
function wantedReader(wanted: MemberTree): (bytes: Uint8Array) => JsonValue | undefined {
  const picker = new MemberPicker(wanted);
  const parser = new NonInterningParser();
  return (bytes) => {
    const text = picker.pick(bytes);
    return text === undefined ? undefined : parser.parse(text);
  };
}

/** The same within a bound. What is long rests while it is read. */
export class BoundedReader {
  readonly #bound: Bound | undefined;
  readonly #read: ReadObject;
  readonly #readWanted: ReturnType<typeof wantedReader> | undefined;

  constructor(wanted: MemberTree | undefined, bound: Bound | undefined) {
    this.#bound = bound;
    this.#read = objectReader(wanted);
    this.#readWanted = wanted === undefined ? undefined : wantedReader(wanted);
  }

  /** Whether `readLong` is to be asked for it. */
  isLong(bytes: Uint8Array): boolean {
    return bytes.length > longBytes;
  }

  read(bytes: Uint8Array): JsonValue {
    if (this.#bound === undefined || this.#readWanted !== undefined) return this.#read(bytes);
    return runSync(parseWithinLimit(this.#bound, bytes));
  }

  /** Within a bound as it is, also when little of it is wanted: what is not there cannot be too much. */
  *readLong(bytes: Uint8Array): Resumable<JsonValue> {
    if (this.#bound !== undefined) return yield* parseWithinLimit(this.#bound, bytes);
    const wanted = this.#readWanted?.(bytes);
    if (wanted !== undefined) return wanted;
    yield;
    const text = new TextDecoder().decode(bytes);
    yield;
    return (yield* parseResumable(text)).value;
  }
}

/** Bytes of an object that are read at once. */
const longBytes = 64 << 10;

/** In one piece: most often there is only one. */
export function concatBytes(parts: readonly Uint8Array[], last: Uint8Array): Uint8Array {
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
