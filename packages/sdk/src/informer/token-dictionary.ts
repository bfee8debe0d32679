/**
 * TokenDictionary: JSON texts made shorter by what many of them have in common.
 *
 * Member names, namespaces, images, the names of managers: most of an object's text stands in the next object, too. A string that was
 * seen before is replaced by two characters below 0x20, which compact JSON never contains. What is in the dictionary stays, so that
 * everything that was packed can be read as long as the dictionary lives; when it is full it learns no more.
 */
import { hashText } from "./hash-text.ts";

/** Codes 0x01 to 0x1f, and 127 characters of one byte behind each. */
const secondCodes = 127;
export const tokensMax = 31 * secondCodes;
/** Quotes included. Shorter ones are not worth two characters, longer ones are hardly ever the same. */
const tokenCharactersMin = 4;
const tokenCharactersMax = 96;
/** Of values that were seen once, the hash is remembered until another one takes its place. */
const seenSlots = 1 << 14;

export class TokenDictionary {
  readonly #codes = new Map<string, string>();
  readonly #tokens: string[] = [];
  /** Made with the first text: most stores are small and never pack one. */
  #seen: Int32Array | undefined;
  #seenIn: Int32Array | undefined;
  #texts = 0;

  /** `text` is compact JSON as JSON.stringify writes it. */
  shorten(text: string): string {
    let short = "";
    let from = 0;
    this.#texts = (this.#texts + 1) | 0;
    for (let open = text.indexOf('"'); open !== -1; ) {
      const close = closingQuote(text, open);
      const end = text.charCodeAt(close + 1) === 0x3a ? close + 2 : close + 1;
      if (end - open >= tokenCharactersMin && end - open <= tokenCharactersMax) {
        const code = this.#codeOf(text.slice(open, end), end > close + 1);
        if (code !== undefined) {
          short += text.slice(from, open) + code;
          from = end;
        }
      }
      open = text.indexOf('"', end);
    }
    return short + text.slice(from);
  }

  restore(short: string): string {
    let text = "";
    let from = 0;
    for (let i = 0; i < short.length; i++) {
      const first = short.charCodeAt(i);
      if (first >= 0x20) continue;
      const index = (first - 1) * secondCodes + short.charCodeAt(i + 1);
      text += short.slice(from, i) + this.#tokens[index];
      i++;
      from = i + 1;
    }
    return text + short.slice(from);
  }

  /** Names of members are learnt at once: they always come again. */
  #codeOf(token: string, isName: boolean): string | undefined {
    const known = this.#codes.get(token);
    if (known !== undefined || this.#tokens.length === tokensMax) return known;
    if (!isName && !this.#wasSeen(token)) return undefined;
    const index = this.#tokens.length;
    const code = String.fromCharCode(1 + Math.floor(index / secondCodes), index % secondCodes);
    const own = copied(token);
    this.#tokens.push(own);
    this.#codes.set(own, code);
    return code;
  }

  /**
   * Whether another text had it: an object's name stands in it several times, and in no other. Hashes are kept and no texts: most values
   * never come again, and would be work for the garbage collector.
   */
  #wasSeen(token: string): boolean {
    const value = hashText(token);
    const slot = value & (seenSlots - 1);
    this.#seen ??= new Int32Array(seenSlots);
    this.#seenIn ??= new Int32Array(seenSlots);
    if (this.#seen[slot] === value) return this.#seenIn[slot] !== this.#texts;
    this.#seen[slot] = value;
    this.#seenIn[slot] = this.#texts;
    return false;
  }
}

/** A slice keeps the whole text alive that it was cut from; this one does not. */
function copied(token: string): string {
  return JSON.parse(JSON.stringify(token)) as string;
}

function closingQuote(text: string, open: number): number {
  let close = text.indexOf('"', open + 1);
  for (;;) {
    let backslashes = 0;
    while (text.charCodeAt(close - 1 - backslashes) === 0x5c) backslashes++;
    if ((backslashes & 1) === 0) return close;
    close = text.indexOf('"', close + 1);
  }
}
