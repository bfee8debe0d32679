/**
 * Lazy parsing of lists: the text is cut into its items, and each item is parsed when the iteration
 * reaches it.
 *
 * A page parsed in full is five hundred objects, which all survive the next run of the garbage
 * collector although most of them are read only once. A list that cannot be cut is parsed in full.
 */
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  skipString,
} from "@kcp-ts/machinery/json";
import { closeBrace, closeBracket, comma, openBrace, openBracket, quote } from "./json-codes.ts";
import type { KubernetesObject, ListMeta } from "./object.ts";
import { hasMetadata, type OnUnreadable, readObjectOrSkip } from "./unreadable.ts";

export interface LazyList<Object extends KubernetesObject> {
  readonly metadata: ListMeta;
  /** The items; each iteration parses them again. */
  readonly items: Iterable<Object>;
}

/**
 * Items that cannot be parsed are left out and reported to `onUnreadable`; without it they fail the
 * list.
 */
export function readList<Object extends KubernetesObject>(
  text: string,
  onUnreadable?: OnUnreadable,
): LazyList<Object> {
  const range = findItems(text);
  if (range === undefined) return parseList(parseJson(text).value);
  const head = parseJson(`${text.slice(0, range.start)}${text.slice(range.end)}`).value;
  if (!isJsonObject(head)) return parseList(parseJson(text).value);
  return {
    metadata: metadataOf(head),
    items: {
      *[Symbol.iterator]() {
        for (const part of cutItems(text, range)) {
          const read = () => parseJson(part).value;
          const item =
            onUnreadable === undefined ? read() : readObjectOrSkip(read, hasMetadata, onUnreadable);
          if (item !== undefined) yield withTypeMeta<Object>(item, head);
        }
      },
    },
  };
}

/** A list that was not cut. */
export function parseList<Object extends KubernetesObject>(
  list: JsonValue,
): { readonly metadata: ListMeta; readonly items: Object[] } {
  if (!isJsonObject(list)) return { metadata: metadataOf({}), items: [] };
  const items = Array.isArray(list["items"]) ? list["items"] : [];
  return {
    metadata: metadataOf(list),
    items: items.map((item) => withTypeMeta<Object>(item, list)),
  };
}

export function metadataOf(list: JsonObject): ListMeta {
  return (isJsonObject(list["metadata"]) ? list["metadata"] : {}) as unknown as ListMeta;
}

/** Items of built-in types come without kind and apiVersion; these follow from the list's own. */
export function withTypeMeta<Item extends KubernetesObject>(item: unknown, list: JsonObject): Item {
  if (isJsonObject(item) && item["kind"] === undefined) {
    const kind = String(list["kind"] ?? "").replace(/List$/, "");
    Object.assign(item, { kind, apiVersion: list["apiVersion"] ?? "" });
  }
  return item as unknown as Item;
}

interface Range {
  /** The index after the opening bracket. */
  readonly start: number;
  /** The index of the closing bracket. */
  readonly end: number;
}

/** Finds the array `items` of the outermost object; undefined unless there is exactly one. */
function findItems(text: string): Range | undefined {
  let found: Range | undefined;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) {
      const end = closingQuote(text, i);
      if (end === -1) return undefined;
      if (depth === 1 && text.startsWith('"items":[', i)) {
        const close = closingBracket(text, i + itemsLength);
        if (close === -1 || found !== undefined) return undefined;
        found = { start: i + itemsLength, end: close };
        i = close;
      } else i = end;
    } else if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) depth--;
  }
  return found;
}

const itemsLength = '"items":['.length;

/** The bracket that closes the array whose content starts at `from`. */
function closingBracket(text: string, from: number): number {
  let depth = 0;
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) {
      i = closingQuote(text, i);
      if (i === -1) return -1;
    } else if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) {
      if (depth === 0) return code === closeBracket ? i : -1;
      depth--;
    }
  }
  return -1;
}

function* cutItems(text: string, { start, end }: Range): IterableIterator<string> {
  if (text.slice(start, end).trim() === "") return;
  let depth = 0;
  let from = start;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) i = closingQuote(text, i);
    else if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) depth--;
    else if (code === comma && depth === 0) {
      yield text.slice(from, i);
      from = i + 1;
    }
  }
  yield text.slice(from, end);
}

/** -1 for a string without end. */
function closingQuote(text: string, open: number): number {
  const end = skipString(text, open);
  return end === text.length ? -1 : end;
}
