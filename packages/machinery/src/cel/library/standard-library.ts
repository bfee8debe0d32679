/** The standard library of the language. */
import type { Library } from "../check/environment.ts";
import {
  type CallContext,
  type FunctionDeclaration,
  fn,
  global,
  member,
} from "../check/function-declaration.ts";
import { patternCost, secondArgumentCost, traversalCost } from "../cost/sizes.ts";
import { affixEstimate, containsEstimate, patternEstimate } from "../cost/standard-estimates.ts";
import { codePointCount } from "../syntax/source.ts";
import { standardMacros } from "../syntax/standard-macros.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  STRING,
  TIMESTAMP,
  TYPE,
  typeParam,
  UINT,
} from "../types/type.ts";
import {
  CelError,
  type CelList,
  type CelMap,
  type CelResult,
  type CelValue,
} from "../values/value.ts";
import { standardConversions } from "./standard-conversions.ts";
import { standardOperators } from "./standard-operators.ts";
import { standardTime } from "./standard-time.ts";

const LIST = listOf(typeParam("A"));
const MAP = mapOf(typeParam("A"), typeParam("B"));

const sizeOfString = (text: string) => BigInt(codePointCount(text));
const sizeOfBytes = (bytes: Uint8Array) => BigInt(bytes.length);
const sizeOfCollection = (collection: CelList | CelMap) => BigInt(collection.size);

const size: FunctionDeclaration = fn(
  "size",
  global("size_bytes", [BYTES], INT, sizeOfBytes),
  member("bytes_size", [BYTES], INT, sizeOfBytes),
  global("size_list", [LIST], INT, sizeOfCollection),
  member("list_size", [LIST], INT, sizeOfCollection),
  global("size_map", [MAP], INT, sizeOfCollection),
  member("map_size", [MAP], INT, sizeOfCollection),
  global("size_string", [STRING], INT, sizeOfString),
  member("string_size", [STRING], INT, sizeOfString),
);

const texts: readonly FunctionDeclaration[] = [
  fn(
    "contains",
    member(
      "contains_string",
      [STRING, STRING],
      BOOL,
      (text: string, part: string) => text.includes(part),
      {
        cost: (_result: CelResult, text: CelValue, part: CelValue) =>
          traversalCost(text) * traversalCost(part),
        estimate: containsEstimate,
      },
    ),
  ),
  fn(
    "endsWith",
    member(
      "ends_with_string",
      [STRING, STRING],
      BOOL,
      (text: string, end: string) => text.endsWith(end),
      { cost: secondArgumentCost, estimate: affixEstimate },
    ),
  ),
  fn(
    "startsWith",
    member(
      "starts_with_string",
      [STRING, STRING],
      BOOL,
      (text: string, start: string) => text.startsWith(start),
      { cost: secondArgumentCost, estimate: affixEstimate },
    ),
  ),
  fn(
    "matches",
    global("matches", [STRING, STRING], BOOL, matches, { cost: patternCost }),
    member("matches_string", [STRING, STRING], BOOL, matches, {
      cost: patternCost,
      estimate: patternEstimate,
    }),
  ),
];

function matches(text: string, source: string, context: CallContext): CelResult {
  const pattern = context.pattern(source);
  if (pattern instanceof CelError) return pattern;
  context.step(pattern.testSteps(text));
  return pattern.test(text);
}

export const standardLibrary: Library = {
  functions: [...standardOperators, size, ...standardConversions, ...texts, ...standardTime],
  macros: standardMacros,
  types: [
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    listOf(DYN),
    mapOf(DYN, DYN),
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
  ],
};
