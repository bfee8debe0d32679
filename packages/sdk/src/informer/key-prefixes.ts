/**
 * KeyPrefixes: object keys shortened by their prefix (cluster and namespace).
 *
 * A cluster and a namespace have many objects. Their part of a key is replaced by two one-byte
 * characters, the first of them below 0x20, with which no key begins. A prefix is learnt with the
 * first key that is stored or never, so a stored key has exactly one short form. A full table
 * learns no more prefixes.
 */

const secondCodes = 127;
/** First characters 0x01 to 0x1f. */
export const prefixesMax = 31 * secondCodes;
const firstPlain = 0x20;

export class KeyPrefixes {
  readonly #codes = new Map<string, string>();
  readonly #prefixes: string[] = [];

  /** The short form of a key that is about to be stored: `cluster|namespace/name`. */
  learn(key: string): string {
    const prefix = prefixOf(key);
    const code = this.#codes.get(prefix) ?? this.#add(prefix);
    return code === undefined ? key : code + key.slice(prefix.length);
  }

  /**
   * The short form of a key for a lookup: a key with an unknown prefix is returned unchanged, which
   * is also how it would be stored.
   */
  shorten(key: string): string {
    const prefix = prefixOf(key);
    const code = this.#codes.get(prefix);
    return code === undefined ? key : code + key.slice(prefix.length);
  }

  restore(short: string): string {
    const first = short.charCodeAt(0);
    // Also for the empty key, where this is NaN.
    if (!(first < firstPlain)) return short;
    return `${this.#prefixes[(first - 1) * secondCodes + short.charCodeAt(1)]}${short.slice(2)}`;
  }

  #add(prefix: string): string | undefined {
    const index = this.#prefixes.length;
    if (prefix === "" || index === prefixesMax) return undefined;
    const code = String.fromCharCode(1 + Math.floor(index / secondCodes), index % secondCodes);
    // A slice keeps the memory of the full key; this copy does not.
    const own = JSON.parse(JSON.stringify(prefix)) as string;
    this.#prefixes.push(own);
    this.#codes.set(own, code);
    return code;
  }
}

function prefixOf(key: string): string {
  return key.slice(0, key.lastIndexOf("/") + 1);
}
