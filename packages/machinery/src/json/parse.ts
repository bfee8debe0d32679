/**
 * Parsing JSON from strangers: V8's parser behind one cheap look at the text.
 *
 * The look finds what V8 would get wrong or let through: integers that a double cannot hold, nesting deeper than anything that
 * walks the value recursively can bear, and duplicate members (by count: text members against parsed members). Only a text that
 * has one of the first two, or the third, takes the slow way.
 */
import type { Resumable } from "../base/index.ts";
import { JsonScanner, jsonDepthMax } from "./look.ts";
import { parseLong } from "./parse-long.ts";
import { type ParsedJson, parseLossless, parseLosslessResumable } from "./parse-lossless.ts";
import { JsonSyntaxError, JsonTooManyValuesError } from "./syntax-error.ts";
import { isJsonObject, type JsonValue } from "./value.ts";

export interface ParseOptions {
  /** Values (objects, arrays and what is in them) that the text may have. */
  readonly valuesMax?: number;
  /** Members that one object may have: objects with very many are slow to make and to walk. */
  readonly membersMax?: number;
  /** Containers within each other, where fewer are expected than this process can bear. */
  readonly depthMax?: number;
}

export interface ParsedText extends ParsedJson {
  /** Values that the text has; those of members that stand twice are counted twice. */
  readonly values: number;
}

/** Throws a JsonSyntaxError, or a JsonTooManyValuesError before anything is parsed. */
export function parseJson(text: string, options: ParseOptions = {}): ParsedText {
  const look = new JsonScanner(sharedWidth);
  look.walk(text, text.length);
  refuseBeyond(look, options);
  return parseWhole(text, look);
}

/** Texts up to here are parsed at once. */
const shortChars = 32 << 10;
/** So much of a longer one is looked at in a piece. */
const lookChars = 128 << 10;

/** The same for a text that may be long, in pieces. */
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

function parseWhole(text: string, look: JsonScanner): ParsedText {
  const { values, members, hasBigNumber } = look;
  const value = hasBigNumber ? undefined : parsePlain(text);
  if (value !== undefined && countMembers(value) === members)
    return { value, duplicates: [], values };
  return { ...parseLossless(text), values };
}

/** One for all looks that are taken at once, which do not overlap. */
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

/** Undefined when it is no JSON: the other parser says what is wrong, in words that are the same for long texts. */
function parsePlain(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
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
