/**
 * Parsing JSON from strangers: V8's parser behind one cheap look at the text.
 *
 * The look finds what V8 would get wrong or let through: integers that a double cannot hold, nesting deeper than anything that
 * walks the value recursively can bear, and duplicate members (by count: text members against parsed members). Only a text that
 * has one of the first two, or the third, takes the slow way.
 */
import type { Pieces } from "../base/index.ts";
import { type ParsedJson, parseLossless } from "./parse-lossless.ts";
import { JsonSyntaxError, JsonTooManyValuesError } from "./syntax-error.ts";
import { isJsonObject, type JsonValue } from "./value.ts";

/** Kubernetes accepts 10,000 levels; nothing real has more than a few dozen, and recursion over the value must stay safe. */
export const jsonDepthMax = 1000;

export interface ParseOptions {
  /** Values (objects, arrays and what is in them) that the text may have. */
  readonly valuesMax?: number;
  /** Members that one object may have: objects with very many are slow to make and to walk. */
  readonly membersMax?: number;
}

/** Throws a JsonSyntaxError, or a JsonTooManyValuesError before anything is parsed. */
export function parseJson(text: string, options: ParseOptions = {}): ParsedJson {
  const look = lookAt(text);
  refuseBeyond(look, options);
  if (look.bigNumber) return parseLossless(text);
  const value = parsePlain(text);
  return countMembers(value) === look.members ? { value, duplicates: [] } : parseLossless(text);
}

/** The same for a text that may be long, resting between the looks and the parsing. */
export function* parseInPieces(text: string, options: ParseOptions = {}): Pieces<ParsedJson> {
  const look = lookAt(text);
  refuseBeyond(look, options);
  yield;
  if (look.bigNumber) return parseLossless(text);
  const value = parsePlain(text);
  yield;
  if (countMembers(value) === look.members) return { value, duplicates: [] };
  yield;
  return parseLossless(text);
}

function refuseBeyond(look: Look, { valuesMax, membersMax }: ParseOptions): void {
  if (look.depth > jsonDepthMax) {
    throw new JsonSyntaxError(`exceeded max depth of ${jsonDepthMax} levels`);
  }
  if (valuesMax !== undefined && look.values > valuesMax)
    throw new JsonTooManyValuesError(`limit is ${valuesMax} values`);
  if (membersMax !== undefined && look.widest > membersMax)
    throw new JsonTooManyValuesError(`limit is ${membersMax} members of one object`);
}

function parsePlain(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new JsonSyntaxError(error instanceof Error ? error.message : String(error), {
      cause: error,
    });
  }
}

interface Look {
  readonly depth: number;
  readonly members: number;
  readonly values: number;
  /** Members of the object that has most. */
  readonly widest: number;
  readonly bigNumber: boolean;
}

const digitsSafeMax = 15;

/** Members so far of the objects that are open, by depth. One for all looks, which do not overlap. */
const width = new Uint32Array(jsonDepthMax + 1);

/** One pass over the characters, strings skipped; tolerant, because the real parser judges the syntax. */
function lookAt(text: string): Look {
  let depth = 0;
  let depthMax = 0;
  let members = 0;
  let values = 1;
  let widest = 0;
  width[0] = 0;
  let digits = 0;
  let bigNumber = false;
  /** Nothing but space since an object or array was opened: if it stays so, it has no first value. */
  let isEmpty = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = skipString(text, i);
      digits = 0;
      isEmpty = false;
    } else if (code >= 0x30 && code <= 0x39) {
      if (++digits > digitsSafeMax) bigNumber = true;
      isEmpty = false;
    } else if (code > 0x20) {
      digits = 0;
      if (code === 0x3a) {
        members++;
        const own = (width[depth] ?? 0) + 1;
        width[depth] = own;
        if (own > widest) widest = own;
      } else if (code === 0x2c) values++;
      else if (code === 0x7b || code === 0x5b) {
        values++;
        if (++depth > depthMax) depthMax = depth;
        width[depth] = 0;
        isEmpty = true;
        continue;
      } else if (code === 0x7d || code === 0x5d) {
        depth--;
        if (isEmpty) values--;
      }
      isEmpty = false;
    } else digits = 0;
  }
  return { depth: depthMax, members, values, widest, bigNumber };
}

/** The index of the closing quote; long strings are searched by the engine, not by us. */
function skipString(text: string, open: number): number {
  let end = text.indexOf('"', open + 1);
  while (end > 0) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if ((backslashes & 1) === 0) return end;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
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
