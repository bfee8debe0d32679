/**
 * TokenDictionary: JSON texts shortened by the tokens that many of them have in common.
 *
 * Member names, namespaces, images, names of managers: most of an object's text occurs in the next
 * object, too. Compact JSON has no bytes below 0x20, so these bytes are codes:
 *
 *     0x00                 the object's own name, in quotes: most labels have it, too
 *     0x01 … 0x1b, byte    a token: a member's name with its colon and prefix, or a value in quotes
 *     0x1c …               strings with a short form (short-strings.ts)
 *
 * Tokens are never removed, so that every packed text can be read as long as the dictionary lives;
 * a full dictionary learns no more tokens. It works on bytes in existing arrays, because a string
 * for every token would be ten strings for each object.
 */
import { hashBytes } from "./hash-bytes.ts";
import { type Bytes, Scratch } from "./scratch.ts";
import { firstShortCode, plainBytes, shortBytes, writePlain, writeShort } from "./short-strings.ts";

const ownName = 0x00;
const tokenCodes = 27;
export const tokensMax = tokenCodes * 256;
const firstPlain = 0x20;
/** Shorter tokens are not worth two bytes, longer ones are rarely equal. */
const tokenBytesMin = 4;
const tokenBytesMax = 96;
/** At least twice as many slots as tokens, so that a search ends soon. */
const slots = 1 << 14;

const shortScratch = new Scratch();
const longScratch = new Scratch();

export class TokenDictionary {
  /** The bytes of all tokens, concatenated. */
  #bytes = new Uint8Array(4096);
  #count = 0;
  /** The start of each token in `bytes`, and the end of the last one. */
  readonly #starts = new Uint32Array(tokensMax + 1);
  /** By hash: the number of a token plus one. */
  readonly #slots = new Uint16Array(slots);
  /**
   * By hash: a value that occurred once, until another value replaces it; its hash and the text in
   * which it occurred.
   */
  readonly #seen = new Int32Array(slots);
  readonly #seenIn = new Int32Array(slots);
  #texts = 0;

  /**
   * `text` is compact JSON as JSON.stringify writes it. The result is valid until the next call of
   * any dictionary.
   */
  shorten({ array: text, start: textStart, end: textEnd }: Bytes, name: Bytes): Bytes {
    const short = shortScratch.reserve(textEnd - textStart);
    this.#texts = (this.#texts + 1) | 0;
    let written = 0;
    let from = textStart;
    for (let open = quoteBehind(text, textStart, textEnd); open < textEnd; ) {
      const close = closingQuote(text, open);
      const isMember = close + 1 < textEnd && text[close + 1] === colon;
      const end = isMember ? close + 2 : close + 1;
      const start = isMember && open > from && isBeforeMember(text[open - 1]) ? open - 1 : open;
      const at = written + start - from;
      const codeBytes = isMember
        ? this.#writeToken(text, start, end, short, at, true)
        : this.#writeValue(text, start, end, name, short, at);
      if (codeBytes > 0) {
        copy(text, from, start, short, written);
        written = at + codeBytes;
        from = end;
      }
      open = quoteBehind(text, end, textEnd);
    }
    copy(text, from, textEnd, short, written);
    shortScratch.end = written + textEnd - from;
    return shortScratch;
  }

  /** The result is valid until the next call of any dictionary. */
  restore(short: Bytes, name: Bytes): Bytes {
    const length = this.#restored(short, name, undefined);
    this.#restored(short, name, longScratch.reserve(length));
    return longScratch;
  }

  /** The length of the text, which is also written if there is space for it. */
  #restored(
    { array: short, start: shortStart, end: shortEnd }: Bytes,
    name: Bytes,
    text: Uint8Array | undefined,
  ): number {
    let length = 0;
    for (let i = shortStart; i < shortEnd; i++) {
      const code = short[i] as number;
      if (code >= firstPlain) {
        if (text !== undefined) text[length] = code;
        length++;
      } else if (code === ownName) {
        if (text !== undefined) writeQuoted(name, text, length);
        length += name.end - name.start + 2;
      } else if (code >= firstShortCode) {
        const plain = plainBytes(short, i);
        if (text !== undefined) writePlain(short, i, text, length, plain);
        length += plain;
        i += shortBytes(short, i) - 1;
      } else {
        const token = (code - 1) * 256 + (short[++i] as number);
        const start = this.#starts[token] as number;
        const end = this.#starts[token + 1] as number;
        if (text !== undefined) copy(this.#bytes, start, end, text, length);
        length += end - start;
      }
    }
    return length;
  }

  #writeValue(
    text: Uint8Array,
    start: number,
    end: number,
    name: Bytes,
    short: Uint8Array,
    at: number,
  ): number {
    if (end - start === name.end - name.start + 2 && isAt(text, start + 1, name)) {
      short[at] = ownName;
      return 1;
    }
    return (
      writeShort(text, start, end, short, at) ||
      this.#writeToken(text, start, end, short, at, false)
    );
  }

  /** Names of members are learnt at once: they always occur again. */
  #writeToken(
    text: Uint8Array,
    start: number,
    end: number,
    short: Uint8Array,
    at: number,
    isMember: boolean,
  ): number {
    if (end - start < tokenBytesMin || end - start > tokenBytesMax) return 0;
    const hash = hashBytes(text, start, end);
    const slot = this.#slotOf(hash, text, start, end);
    let token = (this.#slots[slot] as number) - 1;
    if (token === -1) {
      if (this.#count === tokensMax) return 0;
      if (!isMember && !this.#wasSeen(hash)) return 0;
      token = this.#learn(text, start, end);
      this.#slots[slot] = token + 1;
    }
    short[at] = 1 + (token >> 8);
    short[at + 1] = token & 255;
    return 2;
  }

  /** The slot of the token's number, or the free slot for it. */
  #slotOf(hash: number, text: Uint8Array, start: number, end: number): number {
    for (let slot = hash & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
      const token = (this.#slots[slot] as number) - 1;
      if (token === -1 || this.#isToken(token, text, start, end)) return slot;
    }
  }

  #isToken(token: number, text: Uint8Array, start: number, end: number): boolean {
    const from = this.#starts[token] as number;
    if ((this.#starts[token + 1] as number) - from !== end - start) return false;
    for (let i = start; i < end; i++) if (text[i] !== this.#bytes[from + i - start]) return false;
    return true;
  }

  #learn(text: Uint8Array, start: number, end: number): number {
    const token = this.#count++;
    const from = this.#starts[token] as number;
    const to = from + end - start;
    if (to > this.#bytes.length) {
      const more = new Uint8Array(this.#bytes.length * 2);
      more.set(this.#bytes);
      this.#bytes = more;
    }
    copy(text, start, end, this.#bytes, from);
    this.#starts[token + 1] = to;
    return token;
  }

  /**
   * Whether the value occurred in another text: most values never occur again, and some occur
   * several times in one text.
   */
  #wasSeen(hash: number): boolean {
    const slot = hash & (slots - 1);
    if (this.#seen[slot] === hash) return this.#seenIn[slot] !== this.#texts;
    this.#seen[slot] = hash;
    this.#seenIn[slot] = this.#texts;
    return false;
  }
}

function isBeforeMember(byte: number | undefined): boolean {
  return byte === comma || byte === openBrace;
}

function isAt(text: Uint8Array, at: number, { array, start, end }: Bytes): boolean {
  for (let i = start; i < end; i++) if (text[at + i - start] !== array[i]) return false;
  return true;
}

function writeQuoted({ array, start, end }: Bytes, text: Uint8Array, at: number): void {
  text[at] = quote;
  copy(array, start, end, text, at + 1);
  text[at + 1 + end - start] = quote;
}

/** Copied in a loop: for a few bytes, a call out of JavaScript costs more. */
function copy(
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  at: number,
): void {
  for (let i = start; i < end; i++) target[at + i - start] = source[i] as number;
}

/** The end of the text if there is no match. */
function quoteBehind(text: Uint8Array, start: number, end: number): number {
  let i = start;
  while (i < end && text[i] !== quote) i++;
  return i;
}

function closingQuote(text: Uint8Array, open: number): number {
  let i = open + 1;
  while (text[i] !== quote) i += text[i] === backslash ? 2 : 1;
  return i;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBrace = 0x7b;
