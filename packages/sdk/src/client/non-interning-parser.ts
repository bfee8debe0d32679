/**
 * A JSON parser that does not intern strings, for values that are read and dropped.
 *
 * V8's own parser keeps every string of up to ten characters in its table of unique strings,
 * outside of the young generation: names and versions of a hundred thousand objects are ten
 * megabytes of garbage there. This parser cuts strings out of the text, unless the previous text
 * had the same string in this position, as names of members do in objects of one kind. Values that
 * it does not support go to V8's parser.
 */
import { type JsonValue, parseJson, setMember } from "@kcp-ts/machinery/json";
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  isSpace,
  openBrace,
  openBracket,
  quote,
} from "./json-codes.ts";

/** A marker that is no JSON value. */
const unknown = Symbol("unknown");
type Parsed = JsonValue | typeof unknown;
/** The maximum depth of the wanted members; deeper values go to a parser that counts depth. */
const depthMax = 32;
/** The number of strings of one text that are kept for the next text. */
const stringsMax = 64;

/** One parser for similar texts. */
export class NonInterningParser {
  #text = "";
  #at = 0;
  readonly #strings: string[] = [];
  #stringsSeen = 0;

  /**
   * Throws a JsonSyntaxError. Longer strings share the memory of the text that they were cut from:
   * the text should not be much longer than the wanted values.
   */
  parse(text: string): JsonValue {
    this.#text = text;
    this.#at = 0;
    this.#stringsSeen = 0;
    const value = this.#document();
    return value === unknown ? parseJson(text).value : value;
  }

  #document(): Parsed {
    const value = this.#value(0);
    return this.#next() === undefined ? value : unknown;
  }

  #value(depth: number): Parsed {
    if (depth > depthMax) return unknown;
    switch (this.#next()) {
      case quote:
        return this.#string();
      case openBrace:
        return this.#object(depth);
      case openBracket:
        return this.#array(depth);
      default:
        return this.#word();
    }
  }

  #object(depth: number): Parsed {
    const object: { [key: string]: JsonValue } = {};
    this.#at++;
    if (this.#take(closeBrace)) return object;
    do {
      if (this.#next() !== quote) return unknown;
      const key = this.#string();
      if (key === unknown || !this.#take(colon)) return unknown;
      const value = this.#value(depth + 1);
      if (value === unknown) return unknown;
      setMember(object, key, value);
    } while (this.#take(comma));
    return this.#take(closeBrace) ? object : unknown;
  }

  #array(depth: number): Parsed {
    const array: JsonValue[] = [];
    this.#at++;
    if (this.#take(closeBracket)) return array;
    do {
      const value = this.#value(depth + 1);
      if (value === unknown) return unknown;
      array.push(value);
    } while (this.#take(comma));
    return this.#take(closeBracket) ? array : unknown;
  }

  #string(): string | typeof unknown {
    const place = this.#stringsSeen++;
    const known = this.#strings[place];
    if (known !== undefined && this.#takeString(known)) return known;
    const string = this.#cutString();
    if (string !== unknown && place < stringsMax) this.#strings[place] = string;
    return string;
  }

  #takeString(known: string): boolean {
    const start = this.#at + 1;
    const end = start + known.length;
    if (this.#text.charCodeAt(end) !== quote || !this.#text.startsWith(known, start)) return false;
    this.#at = end + 1;
    return true;
  }

  #cutString(): string | typeof unknown {
    const start = this.#at + 1;
    for (let i = start; i < this.#text.length; i++) {
      const code = this.#text.charCodeAt(i);
      if (code === backslash || code < firstPrintable) return unknown;
      if (code !== quote) continue;
      this.#at = i + 1;
      return this.#text.slice(start, i);
    }
    return unknown;
  }

  /** V8's parser validates numbers. */
  #word(): Parsed {
    for (const [word, value] of words) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return value;
    }
    return unknown;
  }

  /** The next character that is no space; undefined at the end. */
  #next(): number | undefined {
    for (; this.#at < this.#text.length; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (!isSpace(code)) return code;
    }
    return undefined;
  }

  #take(code: number): boolean {
    if (this.#next() !== code) return false;
    this.#at++;
    return true;
  }
}

const words: readonly (readonly [string, JsonValue])[] = [
  ["true", true],
  ["false", false],
  ["null", null],
];
const firstPrintable = 0x20;
