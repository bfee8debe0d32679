/**
 * Parses untrusted JSON: V8's parser after one cheap scan of the text.
 *
 * The scan finds what V8 would get wrong or accept: integers that exceed a double, nesting deeper
 * than recursive code can process, and duplicate members (by count: scanned members against parsed
 * members). Only such a text takes the slow path.
 */
import type { Resumable } from "../base/index.ts";
import { JsonScanner, jsonDepthMax } from "./json-scanner.ts";
import { parseLong } from "./parse-long.ts";
import { type ParsedJson, parseLossless, parseLosslessResumable } from "./parse-lossless.ts";
import { JsonSyntaxError, JsonTooManyValuesError } from "./syntax-error.ts";
import { isJsonObject, type JsonValue } from "./value.ts";

export interface ParseOptions {
  /** The maximum number of values (objects, arrays and their members) of the text. */
  readonly valuesMax?: number;
  /**
   * The maximum number of members of one object: objects with very many are slow to create and to
   * iterate over.
   */
  readonly membersMax?: number;
  /** The maximum nesting depth, where the caller expects less than the process supports. */
  readonly depthMax?: number;
}

export interface ParsedText extends ParsedJson {
  /** The number of values of the text; those of duplicate members are counted twice. */
  readonly values: number;
}

/** Throws a JsonSyntaxError, or a JsonTooManyValuesError before anything is parsed. */
export function parseJson(text: string, options: ParseOptions = {}): ParsedText {
  const look = new JsonScanner(sharedWidth);
  look.walk(text, text.length);
  refuseBeyond(look, options);
  const { values, members, hasBigNumber } = look;
  let value: JsonValue | undefined;
  try {
    if (!hasBigNumber) value = JSON.parse(text) as JsonValue;
  } catch {
    // The other parser reports the error, with the same text for long inputs.
  }
  if (value !== undefined && countMembers(value) === members)
    return { value, duplicates: [], values };
  return { ...parseLossless(text), values };
}

/** Texts up to this length are parsed at once. */
const shortChars = 32 << 10;
/** Characters of a longer text that are scanned per step. */
const lookChars = 128 << 10;

/** The same for a text that may be long, resumably. */
export function* parseResumable(text: string, options: ParseOptions = {}): Resumable<ParsedText> {
  if (text.length <= shortChars) return parseJson(text, options);
  const look = new JsonScanner();
  while (look.at < text.length) {
    look.walk(text, look.at + lookChars);
    yield;
  }
  refuseBeyond(look, options);
  const value = yield* parseLong(text, parseJson);
  if (value !== undefined) return { value, duplicates: [], values: look.values };
  yield;
  return { ...(yield* parseLosslessResumable(text)), values: look.values };
}

/** One scanner for all synchronous scans, which do not overlap. */
const sharedWidth = new Uint32Array(jsonDepthMax + 1);

function refuseBeyond(look: JsonScanner, { valuesMax, membersMax, depthMax }: ParseOptions): void {
  if (look.depthMax > jsonDepthMax) {
    throw new JsonSyntaxError(`exceeded max depth of ${jsonDepthMax} levels`);
  }
  if (valuesMax !== undefined && look.values > valuesMax)
    throw new JsonTooManyValuesError("values", valuesMax);
  if (membersMax !== undefined && look.widest > membersMax)
    throw new JsonTooManyValuesError("members", membersMax);
  if (depthMax !== undefined && look.depthMax > depthMax)
    throw new JsonTooManyValuesError("levels", depthMax);
}

function countMembers(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item as JsonValue);
    return count;
  }
  if (!isJsonObject(value)) return 0;
  for (const key in value) count += 1 + countMembers(value[key] as JsonValue);
  return count;
}
