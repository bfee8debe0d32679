/**
 * Lists read item by item: the text is cut into its items, and each is parsed when it is its turn.
 *
 * A page parsed as a whole is five hundred objects at once, which all survive the garbage collector's next round although most of them are only
 * looked at. What is not cut easily is parsed as a whole.
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
  /** Parsed anew each time it is walked. */
  readonly items: Iterable<Object>;
}

/** Items that cannot be read are left out and told, or an error of the list where nobody wants to hear of them. */
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

/** Items of built-in types come without kind and apiVersion; the list's own tell them. */
export function withTypeMeta<Item extends KubernetesObject>(item: unknown, list: JsonObject): Item {
  if (isJsonObject(item) && item["kind"] === undefined) {
    const kind = String(list["kind"] ?? "").replace(/List$/, "");
    Object.assign(item, { kind, apiVersion: list["apiVersion"] ?? "" });
  }
  return item as unknown as Item;
}

interface Range {
  /** Of the opening bracket's successor. */
  readonly start: number;
  /** Of the closing bracket. */
  readonly end: number;
}

/** Where the array `items` of the outermost object stands; undefined unless it stands there once. */
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
