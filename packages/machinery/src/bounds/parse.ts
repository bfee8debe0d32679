/**
 * Parses untrusted JSON: one scan of the text counts its values before any is created, and the text
 * is rejected when it exceeds its bound.
 */
import type { Resumable } from "../base/index.ts";
import {
  JsonSyntaxError,
  JsonTooManyValuesError,
  type JsonValue,
  type ParsedText,
  parseJson,
  parseResumable,
} from "../json/index.ts";
import { type Bound, BoundExceededError } from "./bound.ts";

/**
 * Throws BoundExceededError before anything is parsed, and JsonSyntaxError. For inputs whose bound
 * fits into one turn of the event loop.
 */
export function parseBounded(bound: Bound, source: string | Uint8Array): JsonValue {
  return parseBoundedText(bound, source).value;
}

/** The same, with the counts and the duplicate members. */
export function parseBoundedText(bound: Bound, source: string | Uint8Array): ParsedText {
  assertByteLimit(bound, source.length);
  try {
    return parseJson(typeof source === "string" ? source : decodeText(source), bound);
  } catch (error) {
    throw boundError(bound, error);
  }
}

/** The resumable form: for inputs that may have more than some tens of kilobytes. */
export function* parseBoundedResumable(
  bound: Bound,
  source: string | Uint8Array,
): Resumable<ParsedText> {
  assertByteLimit(bound, source.length);
  const text = typeof source === "string" ? source : decodeText(source);
  yield;
  try {
    return yield* parseResumable(text, bound);
  } catch (error) {
    throw boundError(bound, error);
  }
}

export function assertByteLimit(bound: Bound, bytes: number): void {
  if (bytes > bound.bytesMax) throw new BoundExceededError(bound, "bytes", bound.bytesMax);
}

/**
 * The parser's limit errors as BoundExceededErrors, which name the input; other errors as they are.
 */
function boundError(bound: Bound, error: unknown): unknown {
  return error instanceof JsonTooManyValuesError
    ? new BoundExceededError(bound, error.dimension, error.max)
    : error;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeText(source: Uint8Array): string {
  try {
    return utf8.decode(source);
  } catch (error) {
    throw new JsonSyntaxError("invalid UTF-8", { cause: error });
  }
}
