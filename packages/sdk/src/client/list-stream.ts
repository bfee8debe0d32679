/**
 * Streaming lists: items are cut out of the bytes of a response, and each item is parsed when it is
 * complete.
 *
 * A page of text is half a megabyte that V8 holds in one string, and as much again while the string
 * is concatenated; a list in chunks never holds more than an item and the chunk in which the item
 * ends. A list that cannot be cut is parsed in full.
 */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "@kcp-ts/machinery/json";
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
import type { MemberTree } from "./member-picker.ts";
import type { KubernetesObject, ListMeta } from "./object.ts";
import { BoundedReader, concatBytes } from "./object-reader.ts";
import type { MemberOptions } from "./options.ts";
import { metadataOf, parseList, withTypeMeta } from "./parse-list.ts";
import {
  PageByteCounter,
  parseResponse,
  parseWithinLimit,
  type ResponseLimits,
  throwIfTooLarge,
} from "./response-limits.ts";
import { HeldBytes } from "./response-memory.ts";
import {
  hasMetadata,
  type OnUnreadable,
  readObjectOrSkip,
  readObjectOrSkipResumable,
} from "./unreadable.ts";

/**
 * As few items as a watch delivers at a time, and for the same reason: the garbage collector keeps
 * the items of the current batch.
 */
const batchItemsMax = 4;

/** Reads one list: `take` is called for every chunk, `end` after the last one. */
export class ListReader<Object extends KubernetesObject> {
  readonly #cutter: ItemCutter;
  readonly #reader: BoundedReader;
  readonly #bytes: PageByteCounter;
  readonly #limits: ResponseLimits | undefined;
  readonly #onUnreadable: OnUnreadable | undefined;
  #head: JsonObject | undefined;
  /** Items without a kind, in a list whose own kind comes after them. */
  readonly #early: unknown[] = [];

  /**
   * With `members`, objects have only these members; apiVersion and kind are always set. A list
   * that is parsed in full has all members.
   */
  constructor({ members, onUnreadable }: MemberOptions = {}, answers?: ResponseLimits) {
    const wanted: MemberTree | undefined =
      members === undefined ? undefined : { apiVersion: true, kind: true, ...members };
    this.#reader = new BoundedReader(wanted, answers?.object);
    this.#cutter = new ItemCutter(answers);
    this.#bytes = new PageByteCounter(answers?.list);
    this.#limits = answers;
    this.#onUnreadable = onUnreadable;
  }

  /**
   * The items that the chunk completes, in batches. An empty batch means that a large item is being
   * read, and that the caller may yield to the event loop.
   */
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

  /** Releases the memory of an incomplete response. Called in any case. */
  close(): void {
    this.#cutter.close();
  }

  /** The remaining items, and the list's own metadata. */
  async end(): Promise<{ readonly items: Object[]; readonly metadata: ListMeta }> {
    const rest = this.#cutter.outside();
    const { hasItems } = this.#cutter;
    const whole = await parseResponse(hasItems ? this.#limits?.head : this.#limits?.response, rest);
    if (!hasItems) return parseList<Object>(whole);
    const list = isJsonObject(whole) ? whole : {};
    const items = this.#early.map((item) => withTypeMeta<Object>(item, list));
    return { items, metadata: metadataOf(list) };
  }
}

/** An empty batch between the steps of a large item. */
function* resumableItems<Result, Item>(work: Resumable<Result>): Generator<Item[], Result, void> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    yield [];
  }
}

const itemsKey = new TextEncoder().encode('"items":[');

/** Separates the bytes of the items from the bytes around them, across the borders of chunks. */
class ItemCutter {
  /** The bytes outside of the items. */
  readonly #around: Uint8Array[] = [];
  /** The bytes of the item in which the last chunk ended. */
  #begun: Uint8Array[] = [];
  #isInItems = false;
  #depth = 0;
  #isInText = false;
  #isEscaped = false;
  /** The number of bytes of the key `items` that have matched so far. */
  #matched = 0;
  #hasItems = false;
  readonly #limits: ResponseLimits | undefined;
  readonly #held: HeldBytes;
  #begunBytes = 0;
  #aroundBytes = 0;

  /**
   * The bytes of an incomplete item, and the bytes around the items, are bounded while they arrive.
   */
  constructor(answers?: ResponseLimits) {
    this.#limits = answers;
    this.#held = new HeldBytes(answers?.memory?.buffers);
  }

  close(): void {
    this.#held.release();
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
        this.#held.set(this.#aroundBytes);
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
    throwIfTooLarge(this.#limits?.object, this.#begunBytes);
    this.#held.set(this.#begunBytes + this.#aroundBytes);
    this.#begun.push(part);
  }

  #addAround(part: Uint8Array): void {
    this.#aroundBytes += part.length;
    throwIfTooLarge(this.#limits?.response, this.#aroundBytes);
    this.#held.set(this.#begunBytes + this.#aroundBytes);
    this.#around.push(part);
  }

  /** The list's own metadata that came before its items. */
  headSoFar(): JsonObject {
    const text = `${this.outside()}]}`;
    const bound = this.#limits?.head;
    const head =
      bound === undefined ? parseJson(text).value : runSync(parseWithinLimit(bound, text));
    return isJsonObject(head) ? head : {};
  }

  /** The text of the list without its items. */
  outside(): string {
    const decoder = new TextDecoder();
    let text = "";
    for (const part of this.#around) text += decoder.decode(part, { stream: true });
    return text + decoder.decode();
  }

  /** Reads one byte of a string outside of the items: the string may be the key `items`. */
  #inText(chunk: Uint8Array, at: number): number {
    const byte = chunk[at] as number;
    this.#match(byte);
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#isInText = false;
    return at;
  }

  /**
   * Skips to the end of a string in an item, or of the chunk; returns the index of the last byte
   * read.
   */
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

  /** Whether the items begin after this byte. */
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

  /**
   * A key of the outermost object, written without spaces; the bracket after the key has been
   * counted.
   */
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
