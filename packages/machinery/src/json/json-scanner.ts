/**
 * One cheap scan of a JSON text that counts its values from its characters. Tolerant, because the
 * actual parser checks the syntax.
 *
 * The scan can proceed some characters at a time: long texts yield in between.
 */

/**
 * Kubernetes accepts 10,000 levels; real objects have a few dozen at most, and recursion over the
 * value must stay safe.
 */
export const jsonDepthMax = 1000;

const digitsSafeMax = 15;

export class JsonScanner {
  /** The next character to scan. */
  at = 0;
  depth = 0;
  depthMax = 0;
  /** The members of all objects together. */
  members = 0;
  /** The number of objects, arrays and their members. */
  values = 1;
  /** The number of members of the largest object. */
  widest = 0;
  /** Whether a number may exceed a double. */
  hasBigNumber = false;
  #digits = 0;
  /**
   * Only white space since an object or array was opened: if it stays so, the container is empty.
   */
  #isEmpty = false;
  /** The current number of members of the open objects, by depth. */
  readonly #width: Uint32Array;

  constructor(width = new Uint32Array(jsonDepthMax + 1)) {
    this.#width = width;
    width[0] = 0;
  }

  /** Scans the text up to about `until`; strings are skipped, and never left in the middle. */
  walk(text: string, until: number): void {
    const width = this.#width;
    const end = Math.min(until, text.length);
    let { depth, depthMax, members, values, widest, hasBigNumber } = this;
    let digits = this.#digits;
    let isEmpty = this.#isEmpty;
    let i = this.at;
    for (; i < end; i++) {
      const code = text.charCodeAt(i);
      if (code === 0x22) {
        i = skipString(text, i);
        digits = 0;
        isEmpty = false;
      } else if (code >= 0x30 && code <= 0x39) {
        if (++digits > digitsSafeMax) hasBigNumber = true;
        isEmpty = false;
      } else if (code > 0x20) {
        // An exponent may make a number exceed a double.
        if (digits > 0 && (code === 0x65 || code === 0x45)) hasBigNumber = true;
        digits = 0;
        if (code === 0x3a) {
          members++;
          const own = (width[depth] ?? 0) + 1;
          width[depth] = own;
          if (own > widest) widest = own;
        } else if (code === 0x2c) values++;
        else if (code === 0x7b || code === 0x5b) {
          values++;
          if (++depth > depthMax) depthMax = depth;
          width[depth] = 0;
          isEmpty = true;
          continue;
        } else if (code === 0x7d || code === 0x5d) {
          depth--;
          if (isEmpty) values--;
        }
        isEmpty = false;
      } else digits = 0;
    }
    this.at = i;
    this.depth = depth;
    this.depthMax = depthMax;
    this.members = members;
    this.values = values;
    this.widest = widest;
    this.hasBigNumber = hasBigNumber;
    this.#digits = digits;
    this.#isEmpty = isEmpty;
  }
}

/**
 * The index of the closing quote. The engine's search finds it up to the first escape; after that
 * characters are scanned one by one, or a text of escapes would take long.
 */
export function skipString(text: string, open: number): number {
  const quote = text.indexOf('"', open + 1);
  if (quote === -1) return text.length;
  if (text.charCodeAt(quote - 1) !== 0x5c) return quote;
  for (let i = Math.max(open + 1, firstBackslash(text, quote)); i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) return i;
    if (code === 0x5c) i++;
  }
  return text.length;
}

/** The number of consecutive backslashes before the quote. */
function firstBackslash(text: string, quote: number): number {
  let at = quote;
  while (text.charCodeAt(at - 1) === 0x5c) at--;
  return at;
}
