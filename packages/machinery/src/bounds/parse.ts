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
  type ParseOptions,
  parseJson,
  parseResumable,
} from "../json/index.ts";
import { type Bound, BoundExceededError } from "./bound.ts";

/** Throws BoundExceededError before anything is parsed, and JsonSyntaxError. For inputs whose bound fits into one turn of the event loop. */
export function parseBounded(bound: Bound, source: string | Uint8Array): JsonValue {
  return parseBoundedText(bound, source).value;
}

/** The same, with the counts and the duplicate members. */
export function parseBoundedText(bound: Bound, source: string | Uint8Array): ParsedText {
  assertByteLimit(bound, source.length);
  return refusing(bound, () => parseJson(textOf(source), limitsOf(bound)));
}

/** The resumable form: for inputs that may have more than some tens of kilobytes. */
export function* parseBoundedResumable(
  bound: Bound,
  source: string | Uint8Array,
): Resumable<ParsedText> {
  assertByteLimit(bound, source.length);
  const text = textOf(source);
  yield;
  const work = parseResumable(text, limitsOf(bound));
  for (;;) {
    const { done, value } = refusing(bound, () => work.next());
    if (done === true) return value;
    yield;
  }
}

export function assertByteLimit(bound: Bound, bytes: number): void {
  if (bytes > bound.bytesMax) throw new BoundExceededError(bound, "bytes", bound.bytesMax);
}

function limitsOf({ valuesMax, membersMax, depthMax }: Bound): ParseOptions {
  return { valuesMax, membersMax, depthMax };
}

/** Converts the parser's limit errors to BoundExceededErrors, which name the input. */
function refusing<Result>(bound: Bound, parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof JsonTooManyValuesError)) throw error;
    throw new BoundExceededError(bound, error.dimension, error.max);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(source: string | Uint8Array): string {
  if (typeof source === "string") return source;
  try {
    return utf8.decode(source);
  } catch (error) {
    throw new JsonSyntaxError("invalid UTF-8", { cause: error });
  }
}
