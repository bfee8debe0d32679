/**
 * One step of a field path, in the form in which FieldsV1 spells it.
 *
 *   f:<name>   a member of a map            k:{"name":"x"}   the item of a keyed list with these keys
 *   i:<n>      an item of a list by place   v:<json>         the item of a set with this value
 *
 * A step is kept as this text, so that sets of fields need no decoding. Two steps are the same if
 * their texts are.
 */
import { type Resumable, YieldCounter } from "../base/index.ts";
import { bounds, parseBounded } from "../bounds/index.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { quote } from "../status/index.ts";
import { compareText } from "./compare-text.ts";
import { stringifyGo } from "./go-json.ts";

export type PathElement = string;
export type FieldPath = readonly PathElement[];

export function fieldElement(name: string): PathElement {
  return `f:${name}`;
}

export function valueElement(value: JsonValue): PathElement {
  return `v:${stringifyGo(value)}`;
}

/** The keys of a list item; `keys` need not be sorted. */
export function keyElement(keys: JsonObject): PathElement {
  return `k:${stringifyGo(keys)}`;
}

/** `.spec.containers[name="x"].image`: how conflicts and errors name a field. */
export function formatPath(path: FieldPath): string {
  return path.map(formatElement).join("");
}

export function formatElement(element: PathElement): string {
  const content = element.slice(2);
  switch (element[0]) {
    case "f":
      return `.${content}`;
    case "k":
      return `[${Object.entries(parseBounded(bounds.fieldPathElement, content) as JsonObject)
        .map(([name, value]) => `${name}=${formatValue(value)}`)
        .join(",")}]`;
    case "v":
      return `[=${formatValue(parseBounded(bounds.fieldPathElement, content))}]`;
    default:
      return `[${content}]`;
  }
}

/** The normalised element, or undefined for an unknown kind. Throws an Error with the reason. */
export function normalizeElement(text: string): PathElement | undefined {
  if (text.length < 2) throw new Error("key must be 2 characters long:");
  if (text[1] !== ":") throw new Error(`missing colon: ${text}`);
  const content = text.slice(2);
  switch (text[0]) {
    case "f":
      return text;
    case "v":
      return valueElement(parseBounded(bounds.fieldPathElement, content));
    case "k": {
      const keys = parseBounded(bounds.fieldPathElement, content);
      if (!isJsonObject(keys)) throw new Error(`expected an object of keys: ${text}`);
      return keyElement(keys);
    }
    case "i":
      if (!/^[+-]?\d{1,15}$/.test(content)) throw new Error(`invalid index: ${text}`);
      return `i:${Number(content)}`;
    default:
      return undefined;
  }
}

/**
 * Names, then keys, then values, then indices, each in its own order; `.` comes first. Returns the
 * identical list if it is sorted.
 */
export function sortElements(elements: readonly PathElement[]): readonly PathElement[] {
  if (areSortedNames(elements)) return elements;
  const decorated = elements.map(decorate);
  if (isSorted(decorated)) return elements;
  return decorated.sort(compareDecorated).map(({ element }) => element);
}

/** Elements that are parsed, or compared, in less than a millisecond. */
const elementsPerYield = 200;

/** The same for many elements: they are parsed in steps, and merged in steps. */
export function* sortElementsResumable(
  elements: readonly PathElement[],
): Resumable<readonly PathElement[]> {
  if (elements.length <= elementsPerYield) return sortElements(elements);
  if (areSortedNames(elements)) return elements;
  yield;
  let runs: Decorated[][] = [];
  for (let at = 0; at < elements.length; at += elementsPerYield) {
    const run = elements.slice(at, at + elementsPerYield).map(decorate);
    runs.push(isSorted(run) ? run : run.sort(compareDecorated));
    yield;
  }
  while (runs.length > 1) {
    const merged: Decorated[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      const [left, right] = [runs[i] as Decorated[], runs[i + 1]];
      merged.push(right === undefined ? left : yield* mergeRuns(left, right));
    }
    runs = merged;
  }
  return (runs[0] as Decorated[]).map(({ element }) => element);
}

function* mergeRuns(
  left: readonly Decorated[],
  right: readonly Decorated[],
): Resumable<Decorated[]> {
  const pace = new YieldCounter(elementsPerYield);
  const merged: Decorated[] = [];
  for (let l = 0, r = 0; l < left.length || r < right.length; ) {
    if (pace.isTime()) yield;
    const [a, b] = [left[l], right[r]];
    if (b === undefined || (a !== undefined && compareDecorated(a, b) <= 0)) {
      merged.push(a as Decorated);
      l++;
    } else {
      merged.push(b);
      r++;
    }
  }
  return merged;
}

/** The common case, checked without parsing elements: all are names, and sorted. */
function areSortedNames(elements: readonly PathElement[]): boolean {
  for (let i = 0; i < elements.length; i++) {
    const element = elements[i] as PathElement;
    if (i === 0 ? element[0] !== "f" && element !== "." : element[0] !== "f") return false;
    const previous = elements[i - 1];
    if (previous !== undefined && previous !== "." && compareText(previous, element) > 0) {
      return false;
    }
  }
  return true;
}

/** An element with its parts, parsed once per sort. */
interface Decorated {
  readonly element: PathElement;
  readonly rank: number;
  readonly value: JsonValue;
}

function decorate(element: PathElement): Decorated {
  return { element, rank: ".fkvi".indexOf(element[0] as string), value: contentOf(element) };
}

function contentOf(element: PathElement): JsonValue {
  switch (element[0]) {
    case "k":
    case "v":
      return parseBounded(bounds.fieldPathElement, element.slice(2));
    case "i":
      return Number(element.slice(2));
    default:
      return element;
  }
}

function isSorted(elements: readonly Decorated[]): boolean {
  for (let i = 1; i < elements.length; i++) {
    if (compareDecorated(elements[i - 1] as Decorated, elements[i] as Decorated) > 0) return false;
  }
  return true;
}

function compareDecorated(a: Decorated, b: Decorated): number {
  if (a.rank !== b.rank) return a.rank - b.rank;
  return a.element[0] === "k"
    ? compareKeys(a.value as JsonObject, b.value as JsonObject)
    : compareValues(a.value, b.value);
}

function compareKeys(a: JsonObject, b: JsonObject): number {
  const [left, right] = [Object.keys(a), Object.keys(b)];
  for (const [i, name] of left.entries()) {
    const other = right[i];
    if (other === undefined) return 1;
    const order =
      compareText(name, other) || compareValues(a[name] as JsonValue, b[other] as JsonValue);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Numbers before texts before booleans before lists before maps before null. */
function compareValues(a: JsonValue, b: JsonValue): number {
  const ranks = valueRank(a) - valueRank(b);
  if (ranks !== 0) return ranks;
  if (typeof a === "string") return compareText(a, b as string);
  if (Array.isArray(a) || isJsonObject(a)) return compareText(stringifyGo(a), stringifyGo(b));
  const [left, right] = [a as number | bigint | boolean, b as number | bigint | boolean];
  return left < right ? -1 : left > right ? 1 : 0;
}

function valueRank(value: JsonValue): number {
  if (value === null) return 5;
  if (Array.isArray(value)) return 3;
  switch (typeof value) {
    case "string":
      return 1;
    case "boolean":
      return 2;
    case "object":
      return 4;
    default:
      return 0;
  }
}

function formatValue(value: JsonValue): string {
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `[${value.map(formatValue).join(",")}]`;
  if (isJsonObject(value)) {
    return Object.entries(value)
      .map(([key, item]) => `${key}=${formatValue(item)}`)
      .join("");
  }
  return String(value);
}
