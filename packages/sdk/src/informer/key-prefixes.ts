/**
 * KeyPrefixes: keys of objects made shorter by what comes before the name.
 *
 * A cluster and a namespace have many objects. Their part of a key is replaced by two characters of one byte, the first of them below 0x20, where
 * no key begins. A part is learnt with the first key that is stored or never, so a stored key has one short form. What is full learns no more.
 */

const secondCodes = 127;
/** First characters 0x01 to 0x1f. */
export const prefixesMax = 31 * secondCodes;
const firstPlain = 0x20;

export class KeyPrefixes {
  readonly #codes = new Map<string, string>();
  readonly #prefixes: string[] = [];

  /** For a key that is about to be stored: `cluster|namespace/name`. */
  learn(key: string): string {
    const prefix = prefixOf(key);
    const code = this.#codes.get(prefix) ?? this.#add(prefix);
    return code === undefined ? key : code + key.slice(prefix.length);
  }

  /** For a key that is looked for: with a part that was never learnt it comes back as it is, and so it was stored, if at all. */
  shorten(key: string): string {
    const prefix = prefixOf(key);
    const code = this.#codes.get(prefix);
    return code === undefined ? key : code + key.slice(prefix.length);
  }

  restore(short: string): string {
    const first = short.charCodeAt(0);
    // Also of the empty key, of which this is not a number.
    if (!(first < firstPlain)) return short;
    return `${this.#prefixes[(first - 1) * secondCodes + short.charCodeAt(1)]}${short.slice(2)}`;
  }

  #add(prefix: string): string | undefined {
    const index = this.#prefixes.length;
    if (prefix === "" || index === prefixesMax) return undefined;
    const code = String.fromCharCode(1 + Math.floor(index / secondCodes), index % secondCodes);
    // A slice keeps the whole key alive that it was cut from; this one does not.
    const own = JSON.parse(JSON.stringify(prefix)) as string;
    this.#prefixes.push(own);
    this.#codes.set(own, code);
    return code;
  }
}

function prefixOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/") + 1);
}
