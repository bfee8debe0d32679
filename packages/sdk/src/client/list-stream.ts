/**
 * Lists read as they come: items are cut out of the bytes of the answer, and each is parsed when it is complete.
 *
 * A page of text is half a megabyte that V8 holds in one piece, and as much again while it is put together; of a list in chunks there is never more
 * than an item and the chunk that it ends in. What is not cut easily is read as a whole.
 */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "@kcp-ts/machinery/json";
import {
  PageByteCounter,
  parseResponse,
  parseWithinLimit,
  type ResponseLimits,
  throwIfTooLarge,
} from "./answer-bounds.ts";
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  isSpace,
  openBrace,
  openBracket,
  quote,
} from "./json-codes.ts";
import { metadataOf, parseList, withTypeMeta } from "./list-text.ts";
import type { MemberTree } from "./member-picker.ts";
import type { KubernetesObject, ListMeta } from "./object.ts";
import { BoundedReader, concatBytes } from "./object-reader.ts";
import type { MemberOptions } from "./options.ts";
import {
  hasMetadata,
  type OnUnreadable,
  readObjectOrSkip,
  readObjectOrSkipResumable,
} from "./unreadable.ts";

/** As few as a watch hands on at a time, and for the same reason: whatever is being worked on is kept by the garbage collector. */
const batchItemsMax = 4;

/** Reads one list: `take` for every chunk of it, `end` behind the last. */
export class ListReader<Object extends KubernetesObject> {
  readonly #cutter: ItemCutter;
  readonly #reader: BoundedReader;
  readonly #bytes: PageByteCounter;
  readonly #answers: ResponseLimits | undefined;
  readonly #onUnreadable: OnUnreadable | undefined;
  #head: JsonObject | undefined;
  /** Items without a kind, in a list that tells its own behind them. */
  readonly #early: unknown[] = [];

  /** With `members`, objects have no others; apiVersion and kind are always there. A list that is read as a whole has all. */
  constructor({ members, onUnreadable }: MemberOptions = {}, answers?: ResponseLimits) {
    const wanted: MemberTree | undefined =
      members === undefined ? undefined : { apiVersion: true, kind: true, ...members };
    this.#reader = new BoundedReader(wanted, answers?.object);
    this.#cutter = new ItemCutter(answers);
    this.#bytes = new PageByteCounter(answers?.list);
    this.#answers = answers;
    this.#onUnreadable = onUnreadable;
  }

  /** The items that the chunk completes, in batches; an empty one says that a large item is being read, and that others may have their turn. */
  *take(chunk: Uint8Array): Generator<Object[]> {
    this.#bytes.add(chunk.length);
    let batch: Object[] = [];
    for (const bytes of this.#cutter.cut(chunk)) {
      const item = this.#reader.isLong(bytes)
        ? yield* resumableItems(this.#readLong(bytes))
        : this.#readShort(bytes);
      if (item === undefined) continue;
      this.#head ??= this.#cutter.headSoFar();
      const isEarly = isJsonObject(item) && item["kind"] === undefined;
      if (isEarly && this.#head["kind"] === undefined) {
        this.#early.push(item);
        continue;
      }
      batch.push(withTypeMeta<Object>(item, this.#head));
      if (batch.length < batchItemsMax) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  #readShort(bytes: Uint8Array): JsonValue | undefined {
    const read = () => this.#reader.read(bytes);
    const onUnreadable = this.#onUnreadable;
    return onUnreadable === undefined ? read() : readObjectOrSkip(read, hasMetadata, onUnreadable);
  }

  *#readLong(bytes: Uint8Array): Resumable<JsonValue | undefined> {
    const read = this.#reader.readLong(bytes);
    const onUnreadable = this.#onUnreadable;
    if (onUnreadable === undefined) return yield* read;
    return yield* readObjectOrSkipResumable(read, hasMetadata, onUnreadable);
  }

  /** The items that are left, and what the list says of itself. */
  async end(): Promise<{ readonly items: Object[]; readonly metadata: ListMeta }> {
    const rest = this.#cutter.outside();
    const { hasItems } = this.#cutter;
    const whole = await parseResponse(hasItems ? this.#answers?.head : this.#answers?.whole, rest);
    if (!hasItems) return parseList<Object>(whole);
    const list = isJsonObject(whole) ? whole : {};
    const items = this.#early.map((item) => withTypeMeta<Object>(item, list));
    return { items, metadata: metadataOf(list) };
  }
}

/** A batch of nothing between the pieces. */
function* resumableItems<Result, Item>(work: Resumable<Result>): Generator<Item[], Result, void> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    yield [];
  }
}

const itemsKey = new TextEncoder().encode('"items":[');

/** Tells the bytes of the items from those around them, over the borders of chunks. */
class ItemCutter {
  /** The bytes outside of the items. */
  readonly #around: Uint8Array[] = [];
  /** Of the item that the last chunk ended in. */
  #begun: Uint8Array[] = [];
  #isInItems = false;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  /** Bytes of the key that have come, one after the other. */
  #matched = 0;
  #hasItems = false;
  readonly #answers: ResponseLimits | undefined;
  #begunBytes = 0;
  #aroundBytes = 0;

  /** What is kept of an item that is not complete, or of what is around them, is bounded as it comes. */
  constructor(answers?: ResponseLimits) {
    this.#answers = answers;
  }

  get hasItems(): boolean {
    return this.#hasItems;
  }

  /** The bytes of the items that this chunk completes. */
  *cut(chunk: Uint8Array): Generator<Uint8Array> {
    let from = 0;
    for (let i = 0; i < chunk.length; i++) {
      if (this.#isInText) {
        i = this.#isInItems ? this.#skipText(chunk, i) : this.#inText(chunk, i);
        continue;
      }
      const byte = chunk[i] as number;
      const isEnd =
        this.#isInItems && this.#depth === 0 && (byte === comma || byte === closeBracket);
      if (isEnd) {
        const item = concatBytes(this.#begun, chunk.subarray(from, i));
        if (this.#begun.length > 0) this.#begun = [];
        this.#begunBytes = 0;
        from = i + 1;
        if (!item.every(isSpace)) yield item;
        if (byte === closeBracket) {
          this.#isInItems = false;
          this.#depth = 2;
          from = i;
        } else continue;
      }
      if (this.#outsideText(byte)) {
        this.#addAround(chunk.slice(from, i + 1));
        from = i + 1;
      }
    }
    if (from >= chunk.length) return;
    if (this.#isInItems) this.#addBegun(chunk.subarray(from));
    else this.#addAround(chunk.slice(from));
  }

  #addBegun(part: Uint8Array): void {
    this.#begunBytes += part.length;
    throwIfTooLarge(this.#answers?.object, this.#begunBytes);
    this.#begun.push(part);
  }

  #addAround(part: Uint8Array): void {
    this.#aroundBytes += part.length;
    throwIfTooLarge(this.#answers?.whole, this.#aroundBytes);
    this.#around.push(part);
  }

  /** What the list has said of itself before its items. */
  headSoFar(): JsonObject {
    const text = `${this.outside()}]}`;
    const bound = this.#answers?.head;
    const head =
      bound === undefined ? parseJson(text).value : runSync(parseWithinLimit(bound, text));
    return isJsonObject(head) ? head : {};
  }

  /** The text of everything but the items. */
  outside(): string {
    const decoder = new TextDecoder();
    let text = "";
    for (const part of this.#around) text += decoder.decode(part, { stream: true });
    return text + decoder.decode();
  }

  /** Looks at one byte of a text outside of the items: it may be their key. */
  #inText(chunk: Uint8Array, at: number): number {
    const byte = chunk[at] as number;
    this.#match(byte);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#isInText = false;
    return at;
  }

  /** To the end of a text in an item, or of the chunk; returns the last byte that was looked at. */
  #skipText(chunk: Uint8Array, from: number): number {
    let i = from;
    if (this.#isEscaped) {
      this.#isEscaped = false;
      i++;
    }
    for (; i < chunk.length; i++) {
      const byte = chunk[i];
      if (byte === quote) {
        this.#isInText = false;
        return i;
      }
      if (byte !== backslash) continue;
      i++;
      this.#isEscaped = i === chunk.length;
    }
    return i;
  }

  /** Whether the items begin behind this byte. */
  #outsideText(byte: number): boolean {
    if (byte === quote) {
      this.#isInText = true;
      this.#matched = 0;
    }
    if (byte === openBrace || byte === openBracket) this.#depth++;
    else if (byte === closeBrace || byte === closeBracket) this.#depth--;
    if (this.#isInItems || this.#hasItems || !this.#match(byte)) return false;
    this.#hasItems = true;
    this.#isInItems = true;
    this.#depth = 0;
    return true;
  }

  /** A key of the outermost object, written without spaces; the bracket behind it has been counted. */
  #match(byte: number): boolean {
    const isHere = this.#depth === 1 || (this.#depth === 2 && byte === openBracket);
    if (!isHere || byte !== itemsKey[this.#matched]) {
      this.#matched = 0;
      return false;
    }
    this.#matched++;
    return this.#matched === itemsKey.length;
  }
}
