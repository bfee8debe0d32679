/** The identity of items of sets and keyed lists. */
import { isJsonObject, type JsonObject, type JsonValue, member } from "../json/index.ts";
import { quote } from "../status/index.ts";
import { compareText } from "./compare-text.ts";
import { stringifyGo } from "./go-json.ts";
import { type PathElement, valueElement } from "./path-element.ts";
import type { ListType } from "./type-schema.ts";

/** The path element of an item, or the reason why it has none. */
export type ItemElement =
  | { readonly element: PathElement; readonly error?: never }
  | { readonly element?: never; readonly error: string };

export function itemElement(list: ListType, item: JsonValue): ItemElement {
  return list.relationship === "keyed" ? keyedItem(list, item) : setItem(item);
}

/** The path elements of all items, or undefined if one has none: then the list is one value. */
export function itemElements(
  list: ListType,
  items: readonly JsonValue[],
): readonly PathElement[] | undefined {
  const elements: PathElement[] = [];
  for (const item of items) {
    const { element } = itemElement(list, item);
    if (element === undefined) return undefined;
    elements.push(element);
  }
  return elements;
}

function keyedItem(list: ListType, item: JsonValue): ItemElement {
  if (item === null) return { error: "associative list with keys may not have a null element" };
  if (!isJsonObject(item)) {
    return { error: "associative list with keys may not have non-map elements" };
  }
  const [onlyKey] = list.keys;
  if (list.keys.length === 1) {
    const value = member(item, onlyKey as string);
    // The common case, written out: one key, a string.
    if (typeof value === "string") {
      return { element: `k:{${stringifyGo(onlyKey as string)}:${stringifyGo(value)}}` };
    }
  }
  return itemWithKeys(list, item);
}

/** The names of the keys in the order of the wire, each as its JSON text. */
const sortedKeys = new WeakMap<ListType, readonly (readonly [name: string, text: string])[]>();

function sortedKeysOf(list: ListType): readonly (readonly [name: string, text: string])[] {
  let keys = sortedKeys.get(list);
  if (keys === undefined) {
    keys = list.keys.toSorted(compareText).map((name) => [name, stringifyGo(name)] as const);
    sortedKeys.set(list, keys);
  }
  return keys;
}

function itemWithKeys(list: ListType, item: JsonObject): ItemElement {
  let members = "";
  for (const [name, text] of sortedKeysOf(list)) {
    // An explicit null is a key of its own; a null default is none.
    const value = member(item, name) ?? (Object.hasOwn(item, name) ? null : defaultOf(list, name));
    if (value === undefined) continue;
    members += `${members === "" ? "" : ","}${text}:${stringifyGo(value)}`;
  }
  if (members === "") {
    const names = list.keys.map(quote).join(" ");
    return {
      error: `associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
    };
  }
  return { element: `k:{${members}}` };
}

function defaultOf(list: ListType, name: string): JsonValue | undefined {
  return list.item.map?.fields.get(name)?.default ?? undefined;
}

function setItem(item: JsonValue): ItemElement {
  if (item === null) {
    return { error: "associative list without keys has an element that's an explicit null" };
  }
  if (Array.isArray(item)) {
    return { error: "not supported: associative list with lists as elements" };
  }
  if (typeof item === "object") {
    return { error: "associative list without keys has an element that's a map type" };
  }
  return { element: valueElement(item) };
}
