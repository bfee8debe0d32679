/**
 * The string extensions of cel-go, version 2, which is what Kubernetes has: `charAt`, `split`,
 * `join`, `format`.
 */
import type { Library } from "../check/environment.ts";
import {
  type CallContext,
  type FunctionDeclaration,
  fn,
  global,
  member,
} from "../check/function-declaration.ts";
import { traversalEstimate } from "../cost/call-estimate.ts";
import { deepTraversalCost, traversalCost } from "../cost/sizes.ts";
import {
  formatEstimate,
  joinEstimate,
  quoteEstimate,
  replaceEstimate,
  searchEstimate,
  splitEstimate,
} from "../cost/string-estimates.ts";
import { EVALUATION_STEPS_MAX, RESULT_ELEMENTS_MAX } from "../limits.ts";
import { DYN, INT, listOf, STRING } from "../types/type.ts";
import { CodePoints } from "../values/code-points.ts";
import { ArrayList, elementsOf } from "../values/collections.ts";
import { chargeSteps } from "../values/step-counter.ts";
import { CelError, type CelList, type CelResult, type CelValue } from "../values/value.ts";
import { kubernetesFormat } from "./format-dialects.ts";
import { type FormatDialect, formatString } from "./format-string.ts";
import { quote } from "./quote.ts";

const readsTarget = {
  cost: (_result: CelResult, text: CelValue) => traversalCost(text),
  estimate: traversalEstimate({ sameSize: true }),
};
const searchesTarget = {
  cost: (_result: CelResult, text: CelValue) => deepTraversalCost(text),
  estimate: searchEstimate,
};
const readsTwice = (_result: CelResult, text: CelValue) => traversalCost(text, 2);
const STRING_LIST = listOf(STRING);

/** `dialect` decides how `format` prints. */
export function stringsLibrary(
  { dialect }: { dialect: FormatDialect } = { dialect: kubernetesFormat },
): Library {
  const format = (text: string, args: CelList, context: CallContext) =>
    formatString(text, args, dialect, context);
  return {
    functions: [
      ...positions,
      ...cases,
      ...pieces,
      fn(
        "format",
        member("string_format", [STRING, listOf(DYN)], STRING, format, {
          cost: (_result: CelResult, text: CelValue) => traversalCost(text),
          estimate: formatEstimate,
        }),
      ),
      fn(
        "strings.quote",
        global("strings_quote", [STRING], STRING, quote, {
          cost: (_result: CelResult, text: CelValue) => traversalCost(text),
          estimate: quoteEstimate,
        }),
      ),
    ],
  };
}

/** Newer versions of the extension have this as well; Kubernetes does not. */
export const stringReverseLibrary: Library = {
  functions: [
    fn(
      "reverse",
      member(
        "string_reverse",
        [STRING],
        STRING,
        (text: string) => [...new CodePoints(text).points()].reverse().join(""),
        readsTarget,
      ),
    ),
  ],
};

const positions: readonly FunctionDeclaration[] = [
  fn("charAt", member("string_char_at_int", [STRING, INT], STRING, charAt)),
  fn(
    "indexOf",
    member(
      "string_index_of_string",
      [STRING, STRING],
      INT,
      (text: string, part: string) => indexOf(text, part, 0n),
      searchesTarget,
    ),
    member("string_index_of_string_int", [STRING, STRING, INT], INT, indexOf, searchesTarget),
  ),
  fn(
    "lastIndexOf",
    member("string_last_index_of_string", [STRING, STRING], INT, lastIndexOfAll, searchesTarget),
    member(
      "string_last_index_of_string_int",
      [STRING, STRING, INT],
      INT,
      lastIndexOf,
      searchesTarget,
    ),
  ),
  fn(
    "substring",
    member(
      "string_substring_int",
      [STRING, INT],
      STRING,
      (text: string, start: bigint) => substring(text, start),
      readsTarget,
    ),
    member(
      "string_substring_int_int",
      [STRING, INT, INT],
      STRING,
      (text: string, start: bigint, end: bigint) => substring(text, start, end),
      readsTarget,
    ),
  ),
];

const cases: readonly FunctionDeclaration[] = [
  fn("lowerAscii", member("string_lower_ascii", [STRING], STRING, lowerAscii, readsTarget)),
  fn("upperAscii", member("string_upper_ascii", [STRING], STRING, upperAscii, readsTarget)),
  fn("trim", member("string_trim", [STRING], STRING, trim, readsTarget)),
];

const pieces: readonly FunctionDeclaration[] = [
  fn(
    "replace",
    member(
      "string_replace_string_string",
      [STRING, STRING, STRING],
      STRING,
      (text: string, from: string, to: string) => replace(text, from, to, -1n),
      { cost: readsTwice, estimate: replaceEstimate },
    ),
    member("string_replace_string_string_int", [STRING, STRING, STRING, INT], STRING, replace, {
      cost: readsTwice,
      estimate: replaceEstimate,
    }),
  ),
  fn(
    "split",
    member(
      "string_split_string",
      [STRING, STRING],
      STRING_LIST,
      (text: string, separator: string) => split(text, separator, -1n),
      { cost: readsTwice, estimate: splitEstimate },
    ),
    member("string_split_string_int", [STRING, STRING, INT], STRING_LIST, split, {
      cost: readsTwice,
      estimate: splitEstimate,
    }),
  ),
  fn(
    "join",
    member("list_join", [STRING_LIST], STRING, (list: CelList) => join(list, ""), {
      cost: (result: CelResult) => traversalCost(result, 2),
      estimate: joinEstimate,
    }),
    member("list_join_string", [STRING_LIST, STRING], STRING, join, {
      cost: (result: CelResult) => traversalCost(result, 2),
      estimate: joinEstimate,
    }),
  ),
];

function outOfRange(index: bigint): CelError {
  return new CelError(`index out of range: ${index}`);
}

function charAt(text: string, index: bigint): CelResult {
  const points = new CodePoints(text);
  if (index < 0n || index > BigInt(points.length)) return outOfRange(index);
  return points.slice(Number(index), Number(index) + 1);
}

function indexOf(text: string, part: string, from: bigint): CelResult {
  const points = new CodePoints(text);
  if (from < 0n || (from >= BigInt(points.length) && part !== "") || from > BigInt(points.length)) {
    return points.length === 0 && from === 0n ? -1n : outOfRange(from);
  }
  return BigInt(points.indexOf(part, Number(from)));
}

function lastIndexOfAll(text: string, part: string): CelResult {
  const points = new CodePoints(text);
  return BigInt(points.lastIndexOf(part, points.length));
}

function lastIndexOf(text: string, part: string, from: bigint): CelResult {
  const points = new CodePoints(text);
  if (from < 0n || from >= BigInt(points.length)) {
    return part === "" && from === BigInt(points.length) ? from : outOfRange(from);
  }
  return BigInt(points.lastIndexOf(part, Number(from)));
}

function substring(text: string, start: bigint, end?: bigint): CelResult {
  const points = new CodePoints(text);
  const length = BigInt(points.length);
  if (end !== undefined && start > end) {
    return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  }
  if (start < 0n || start > length) return outOfRange(start);
  if (end !== undefined && (end < 0n || end > length)) return outOfRange(end);
  return points.slice(Number(start), end === undefined ? points.length : Number(end));
}

function lowerAscii(text: string): CelResult {
  if (isAscii(text)) return text.toLowerCase();
  chargeSteps(text.length);
  return text.replaceAll(/[A-Z]+/g, (part) => part.toLowerCase());
}

function upperAscii(text: string): CelResult {
  if (isAscii(text)) return text.toUpperCase();
  chargeSteps(text.length);
  return text.replaceAll(/[a-z]+/g, (part) => part.toUpperCase());
}

function isAscii(text: string): boolean {
  return !/[\u0080-\uffff]/.test(text);
}

/**
 * Unicode's White_Space, which has U+0081 and lacks U+FEFF as opposed to JavaScript's own notion.
 */
const SPACES = new Set<number>([
  ...[9, 10, 11, 12, 13, 32, 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000],
  ...Array.from({ length: 11 }, (_, i) => 0x2000 + i),
]);

function trim(text: string): CelResult {
  let start = 0;
  let end = text.length;
  while (start < end && SPACES.has(text.charCodeAt(start))) start++;
  while (end > start && SPACES.has(text.charCodeAt(end - 1))) end--;
  chargeSteps((text.length - (end - start)) >> 1);
  return text.slice(start, end);
}

function tooLong(length: number): CelError {
  return new CelError(`result exceeds limit: size: ${length}, limit ${RESULT_ELEMENTS_MAX}`);
}

/**
 * Replaces the first `count` occurrences, all if negative; an empty `from` is found around every
 * code point.
 */
function replace(text: string, from: string, to: string, count: bigint): CelResult {
  if (count === 0n) return text;
  const parts = from === "" ? ["", ...new CodePoints(text).points(), ""] : partsOf(text, from);
  const limit = count < 0n ? parts.length - 1 : Math.min(Number(count), parts.length - 1);
  const length = text.length + limit * (to.length - from.length);
  if (length > RESULT_ELEMENTS_MAX) return tooLong(length);
  return parts.slice(0, limit + 1).join(to) + rest(parts.slice(limit + 1), from);
}

/** More parts than an evaluation may ask for are not made. */
function partsOf(text: string, separator: string): string[] {
  const parts = text.split(separator, EVALUATION_STEPS_MAX + 1);
  chargeSteps(parts.length);
  return parts;
}

function rest(parts: readonly string[], from: string): string {
  return parts.length === 0 ? "" : from + parts.join(from);
}

/** At most `count` pieces, the last one with what is left; all if negative. */
function split(text: string, separator: string, count: bigint): CelResult {
  if (count === 0n) return new ArrayList([]);
  const parts = separator === "" ? [...new CodePoints(text).points()] : partsOf(text, separator);
  if (count < 0n || BigInt(parts.length) <= count) return new ArrayList(parts);
  const kept = parts.slice(0, Number(count) - 1);
  return new ArrayList([...kept, parts.slice(Number(count) - 1).join(separator)]);
}

function join(list: CelList, separator: string): CelResult {
  chargeSteps(list.size * 2);
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  let length = separator.length * Math.max(0, elements.length - 1);
  for (const element of elements) {
    if (typeof element !== "string") return new CelError(`join: invalid input: ${String(element)}`);
    length += element.length;
  }
  return length > RESULT_ELEMENTS_MAX ? tooLong(length) : elements.join(separator);
}
