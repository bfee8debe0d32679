/**
 * Parses the bytes of one object, or of one event with its object: all members, or only the wanted
 * ones.
 */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import type { Bound } from "@kcp-ts/machinery/bounds";
import { type JsonValue, parseJson, parseResumable } from "@kcp-ts/machinery/json";
import { MemberPicker, type MemberTree } from "./member-picker.ts";
import { NonInterningParser } from "./non-interning-parser.ts";
import { parseWithinLimit } from "./response-limits.ts";

export type ReadObject = (bytes: Uint8Array) => JsonValue;

/** `undefined`: all members are wanted. */
export function objectReader(wanted: MemberTree | undefined): ReadObject {
  const decoder = new TextDecoder();
  const whole = (bytes: Uint8Array) => parseJson(decoder.decode(bytes)).value;
  if (wanted === undefined) return whole;
  const readWanted = wantedReader(wanted);
  return (bytes) => readWanted(bytes) ?? whole(bytes);
}

/** Parses the wanted members of an object; undefined where they cannot be cut out. */
function wantedReader(wanted: MemberTree): (bytes: Uint8Array) => JsonValue | undefined {
  const picker = new MemberPicker(wanted);
  const parser = new NonInterningParser();
  return (bytes) => {
    const text = picker.pick(bytes);
    return text === undefined ? undefined : parser.parse(text);
  };
}

/** The same within a limit. A long text yields to the event loop while it is parsed. */
export class BoundedReader {
  readonly #bound: Bound | undefined;
  readonly #read: ReadObject;
  readonly #readWanted: ReturnType<typeof wantedReader> | undefined;

  constructor(wanted: MemberTree | undefined, bound: Bound | undefined) {
    this.#bound = bound;
    this.#read = objectReader(wanted);
    this.#readWanted = wanted === undefined ? undefined : wantedReader(wanted);
  }

  /** Whether the caller must use `readLong` for this text. */
  isLong(bytes: Uint8Array): boolean {
    return bytes.length > longBytes;
  }

  read(bytes: Uint8Array): JsonValue {
    if (this.#bound === undefined || this.#readWanted !== undefined) return this.#read(bytes);
    return runSync(parseWithinLimit(this.#bound, bytes));
  }

  /**
   * The limit holds for the full text, also when few of its members are wanted: skipped members
   * cannot exceed a limit of values.
   */
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

/** The most bytes of an object that are parsed without yielding. */
const longBytes = 64 << 10;

/** Concatenates chunks: most often there is only one. */
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
