/**
 * ObjectTable: objects by the text of their key, the first so many as objects, all others packed.
 *
 * Who reads a packed object gets a new copy each time, made in a few microseconds for a kilobyte. Only what JSON can say may be packed.
 */
import { type JsonValue, parseJson, stringifyJson } from "@kcp-ts/machinery/json";
import { PackedTexts } from "./packed-texts.ts";

/** A megabyte or two of objects of a kilobyte: programs with less than this notice nothing. */
export const liveObjectsMaxDefault = 1024;

/** In front of a text with integers that only the exact parser understands. */
const exactMark = "!";

export class ObjectTable<Cached> {
  readonly #liveMax: number;
  readonly #live = new Map<string, Cached>();
  readonly #packed = new PackedTexts();

  constructor(liveMax: number) {
    this.#liveMax = liveMax;
  }

  get size(): number {
    return this.#live.size + this.#packed.size;
  }

  /** Whether an object that is not here yet would be packed. */
  get packsNew(): boolean {
    return this.#live.size >= this.#liveMax;
  }

  get(key: string): Cached | undefined {
    const live = this.#live.get(key);
    if (live !== undefined) return live;
    const text = this.#packed.get(key);
    return text === undefined ? undefined : parse<Cached>(text);
  }

  has(key: string): boolean {
    return this.#live.has(key) || this.#packed.has(key);
  }

  /** An object stays what it was when it came, live or packed. */
  set(key: string, object: Cached): void {
    const isRoom = !this.packsNew && !this.#packed.has(key);
    if (isRoom || this.#live.has(key)) this.#live.set(key, object);
    else this.#packed.set(key, stringify(object));
  }

  /** Takes over an object of another table as it is there: live objects stay the same. */
  adopt(key: string, from: ObjectTable<Cached>): void {
    this.delete(key);
    const live = from.#live.get(key);
    const text = live === undefined ? from.#packed.get(key) : undefined;
    if (live !== undefined) this.#live.set(key, live);
    else if (text !== undefined) this.#packed.set(key, text);
  }

  delete(key: string): boolean {
    return this.#live.delete(key) || this.#packed.delete(key);
  }

  /** Whether both hold the same object, or packed ones that read the same. */
  isSameIn(other: ObjectTable<Cached>, key: string): boolean {
    const live = this.#live.get(key);
    if (live !== undefined) return other.#live.get(key) === live;
    const text = other.#packed.get(key);
    return text !== undefined && this.#packed.get(key) === text;
  }

  *keys(): IterableIterator<string> {
    yield* this.#live.keys();
    yield* this.#packed.keys();
  }

  *entries(): IterableIterator<[string, Cached]> {
    yield* this.#live.entries();
    for (const [key, text] of this.#packed.entries()) {
      yield [key, parse<Cached>(text)];
    }
  }
}

function stringify(object: unknown): string {
  try {
    return JSON.stringify(object);
  } catch (error) {
    // The only reason for values from a parser: they hold a bigint.
    if (!(error instanceof TypeError)) throw error;
    return exactMark + stringifyJson(object as JsonValue);
  }
}

function parse<Cached>(text: string): Cached {
  const isExact = text.startsWith(exactMark);
  const value = isExact ? parseJson(text.slice(1)).value : (JSON.parse(text) as unknown);
  return value as Cached;
}
