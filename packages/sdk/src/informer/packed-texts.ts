/**
 * PackedTexts: JSON texts by object key, in as few bytes as is fast.
 *
 * No structure here grows on the heap with the number of texts, and packing a text leaves no
 * garbage there.
 */
import { KeyPrefixes } from "./key-prefixes.ts";
import { PackedRecords } from "./packed-records.ts";
import { type Bytes, Scratch } from "./scratch.ts";
import { TokenDictionary } from "./token-dictionary.ts";

const decoder = new TextDecoder();
const keyScratch = new Scratch();
const textScratch = new Scratch();

/** Created with the first text: most stores are small and never pack one. */
class Packing {
  readonly records = new PackedRecords();
  readonly prefixes = new KeyPrefixes();
  readonly tokens = new TokenDictionary();

  shortKey(key: string): Bytes {
    return keyScratch.write(this.prefixes.shorten(key));
  }

  text(short: Bytes, name: Bytes): string {
    return decoded(this.tokens.restore(short, name));
  }
}

export class PackedTexts {
  #packing: Packing | undefined;

  get size(): number {
    return this.#packing?.records.size ?? 0;
  }

  /** Bytes of all records. */
  get bytes(): number {
    return this.#packing?.records.bytes ?? 0;
  }

  has(key: string): boolean {
    const packing = this.#packing;
    return packing?.records.has(packing.shortKey(key)) ?? false;
  }

  get(key: string): string | undefined {
    const packing = this.#packing;
    if (packing === undefined) return undefined;
    const short = packing.shortKey(key);
    const value = packing.records.get(short);
    return value === undefined ? undefined : packing.text(value, nameIn(short));
  }

  /** `text` is compact JSON as JSON.stringify writes it. */
  set(key: string, text: string): void {
    this.#packing ??= new Packing();
    const { records, prefixes, tokens } = this.#packing;
    const short = keyScratch.write(prefixes.learn(key));
    records.set(short, tokens.shorten(textScratch.write(text), nameIn(short)));
  }

  delete(key: string): boolean {
    const packing = this.#packing;
    return packing?.records.delete(packing.shortKey(key)) ?? false;
  }

  *keys(): IterableIterator<string> {
    const packing = this.#packing;
    if (packing === undefined) return;
    for (const [key] of packing.records.entries()) yield packing.prefixes.restore(decoded(key));
  }

  *entries(): IterableIterator<[key: string, text: string]> {
    const packing = this.#packing;
    if (packing === undefined) return;
    for (const [key, value] of packing.records.entries()) {
      yield [packing.prefixes.restore(decoded(key)), packing.text(value, nameIn(key))];
    }
  }
}

/**
 * The name after a short prefix; for a key whose prefix is unknown the full key, which occurs in no
 * text.
 */
function nameIn({ array, start, end }: Bytes): Bytes {
  const isShort = end > start && (array[start] as number) < 0x20;
  return { array, start: isShort ? start + 2 : start, end };
}

function decoded({ array, start, end }: Bytes): string {
  return decoder.decode(array.subarray(start, end));
}
