/**
 * ObjectTable: objects by the text of their key; the first ones as JavaScript objects, all others
 * packed.
 *
 * Each read of a packed object returns a new copy, made in a few microseconds for a kilobyte. Only
 * values that JSON can represent may be packed.
 */
import { type JsonValue, parseJson, stringifyJson } from "@kcp-ts/machinery/json";
import type { ObjectCharges } from "./object-charges.ts";
import { PackedTexts } from "./packed-texts.ts";

/** A megabyte or two of objects of a kilobyte: smaller stores pack nothing. */
export const liveObjectsMaxDefault = 1024;

/**
 * Of a packed table, the objects that changed last are there as JavaScript objects, too: a change
 * is read soon after it arrives, by the reconcile that it causes.
 */
const recentMax = 64;
/** So that these take no memory worth mentioning, whatever a server sends. */
const recentCharactersMax = 16 << 10;

/** The prefix of a text with integers that only the exact parser can read. */
const exactMark = "!";

export class ObjectTable<Cached> {
  readonly #liveMax: number;
  readonly #live = new Map<string, Cached>();
  readonly #packed = new PackedTexts();
  /** In the order of their changes. */
  readonly #recent = new Map<string, Cached>();

  readonly charges: ObjectCharges | undefined;

  constructor(liveMax: number, charges?: ObjectCharges) {
    this.#liveMax = liveMax;
    this.charges = charges;
  }

  get size(): number {
    return this.#live.size + this.#packed.size;
  }

  /** Whether a new object would be packed. */
  get packsNew(): boolean {
    return this.#live.size >= this.#liveMax;
  }

  get(key: string): Cached | undefined {
    const known = this.#live.get(key) ?? this.#recent.get(key);
    if (known !== undefined) return known;
    const text = this.#packed.get(key);
    return text === undefined ? undefined : parse<Cached>(text);
  }

  has(key: string): boolean {
    return this.#live.has(key) || this.#packed.has(key);
  }

  /** An object keeps the form, live or packed, that it had when it was added. */
  set(key: string, object: Cached): void {
    this.#recent.delete(key);
    this.#set(key, object);
  }

  /** The same for an object that is about to be read. */
  setRecent(key: string, object: Cached): void {
    this.#recent.delete(key);
    const packedLength = this.#set(key, object);
    if (packedLength === 0 || packedLength > recentCharactersMax) return;
    this.#recent.set(key, object);
    if (this.#recent.size <= recentMax) return;
    for (const oldest of this.#recent.keys()) {
      this.#recent.delete(oldest);
      return;
    }
  }

  /** The length of the text that was packed; 0 for an object that stays a JavaScript object. */
  #set(key: string, object: Cached): number {
    this.charges?.set(key, object);
    const isRoom = !this.packsNew && !this.#packed.has(key);
    if (isRoom || this.#live.has(key)) {
      this.#live.set(key, object);
      return 0;
    }
    const text = stringify(object);
    this.#packed.set(key, text);
    return text.length;
  }

  /** Takes an object of another table unchanged: live objects stay identical. */
  adopt(key: string, from: ObjectTable<Cached>): void {
    this.delete(key);
    const live = from.#live.get(key);
    const text = live === undefined ? from.#packed.get(key) : undefined;
    if (live !== undefined) this.#live.set(key, live);
    else if (text !== undefined) this.#packed.set(key, text);
    this.charges?.borrow(key);
  }

  delete(key: string): boolean {
    this.charges?.delete(key);
    this.#recent.delete(key);
    return this.#live.delete(key) || this.#packed.delete(key);
  }

  /** Whether both tables hold the identical object, or equal packed ones. */
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
    // Values that need the exact parser: they contain a bigint.
    if (!(error instanceof TypeError)) throw error;
    return exactMark + stringifyJson(object as JsonValue);
  }
}

function parse<Cached>(text: string): Cached {
  const isExact = text.startsWith(exactMark);
  const value = isExact ? parseJson(text.slice(1)).value : (JSON.parse(text) as unknown);
  return value as Cached;
}
