/**
 * The slow, exact JSON parser: keeps integers beyond 2^53 as bigints, rejects numbers that exceed a
 * double, and reports duplicate members.
 *
 * Strings and numbers are cut out by position and passed to V8, so that escapes and floats have the
 * same meaning in both parsers.
 */
import { type Resumable, runSync, YieldCounter } from "../base/index.ts";
import { skipString } from "./json-scanner.ts";
import { JsonSyntaxError } from "./syntax-error.ts";
import { type JsonValue, setMember } from "./value.ts";

export interface ParsedJson {
  readonly value: JsonValue;
  /**
   * Paths such as `spec.replicas` of duplicate members, the first hundred of them; the last member
   * counts.
   */
  readonly duplicates: readonly string[];
}

export function parseLossless(text: string): ParsedJson {
  return runSync(parseLosslessResumable(text));
}

/** The same, resumably. */
export function* parseLosslessResumable(text: string): Resumable<ParsedJson> {
  const parser = new LosslessParser(text);
  return { value: yield* parser.parseDocument(), duplicates: parser.duplicates };
}

/**
 * The reported duplicates, and the characters of each: a text can have as many duplicates as
 * values, each below a name as long as itself.
 */
export const duplicatesMax = 100;
export const duplicateCharactersMax = 1000;

/** Values between two yields. */
const valuesPerPiece = 200;
/** An integer with more digits exceeds 64 bits; parsing it exactly takes quadratic time. */
const exactDigitsMax = 20;

const numberPattern = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
const spacePattern = /[ \t\n\r]*/y;
/** The parser yields before and after it parses a longer number. */
const longNumberChars = 16 << 10;
/** Characters of a rejected number that are quoted. */
const numberCharsMax = 100;
const int64Max = 2n ** 63n - 1n;

class LosslessParser {
  readonly duplicates: string[] = [];
  readonly #text: string;
  /** The parser's position; formatted only for duplicates. */
  readonly #path: (string | number)[] = [];
  readonly #pace = new YieldCounter(valuesPerPiece);
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  *parseDocument(): Resumable<JsonValue> {
    const value = yield* this.#value();
    this.#space();
    if (this.#at !== this.#text.length) this.#fail();
    return value;
  }

  *#value(): Resumable<JsonValue> {
    if (this.#pace.isTime()) yield;
    this.#space();
    switch (this.#text[this.#at]) {
      case "{":
        return yield* this.#object();
      case "[":
        return yield* this.#array();
      case '"':
        return this.#string();
      case "t":
        return this.#word("true", true);
      case "f":
        return this.#word("false", false);
      case "n":
        return this.#word("null", null);
      default:
        return yield* this.#number();
    }
  }

  *#object(): Resumable<JsonValue> {
    const object: { [key: string]: JsonValue } = {};
    this.#at++;
    if (this.#take("}")) return object;
    do {
      this.#space();
      if (this.#text[this.#at] !== '"') this.#fail();
      const key = this.#string();
      if (!this.#take(":")) this.#fail();
      this.#path.push(key);
      if (Object.hasOwn(object, key)) this.#duplicate();
      setMember(object, key, yield* this.#value());
      this.#path.pop();
    } while (this.#take(","));
    if (!this.#take("}")) this.#fail();
    return object;
  }

  *#array(): Resumable<JsonValue> {
    const array: JsonValue[] = [];
    this.#at++;
    if (this.#take("]")) return array;
    const depth = this.#path.length;
    do {
      this.#path[depth] = array.length;
      array.push(yield* this.#value());
    } while (this.#take(","));
    this.#path.length = depth;
    if (!this.#take("]")) this.#fail();
    return array;
  }

  #duplicate(): void {
    if (this.duplicates.length < duplicatesMax) this.duplicates.push(this.#pathText());
  }

  #pathText(): string {
    let text = "";
    for (const part of this.#path) {
      if (typeof part === "number") text += `[${part}]`;
      else text += `${text === "" ? "" : "."}${part.slice(0, duplicateCharactersMax)}`;
      if (text.length > duplicateCharactersMax) return text.slice(0, duplicateCharactersMax);
    }
    return text;
  }

  #string(): string {
    const from = this.#at;
    this.#at = skipString(this.#text, from) + 1;
    const text = this.#text.slice(from, this.#at);
    try {
      return JSON.parse(text) as string;
    } catch (error) {
      // Every escape and control character was accepted.
      throw new JsonSyntaxError(error instanceof Error ? error.message : String(error), {
        cause: error,
      });
    }
  }

  *#number(): Resumable<number | bigint> {
    const text = this.#match(numberPattern);
    // Each look at millions of digits takes milliseconds.
    if (text.length > longNumberChars) yield;
    const value = Number(text);
    // Go's text; the double would be Infinity, which JSON writes as null.
    if (!Number.isFinite(value)) {
      const shown = text.length > numberCharsMax ? `${text.slice(0, numberCharsMax)}…` : text;
      throw new JsonSyntaxError(
        `json: cannot unmarshal number ${shown} into Go value of type float64`,
      );
    }
    if (Number.isSafeInteger(value) || text.length > exactDigitsMax) return value;
    if (/[.eE]/.test(text)) return value;
    const exact = BigInt(text);
    return exact <= int64Max && exact >= -int64Max - 1n ? exact : value;
  }

  #word<Value extends JsonValue>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) this.#fail();
    this.#at += word.length;
    return value;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) this.#fail();
    this.#at = pattern.lastIndex;
    return found[0];
  }

  #take(char: string): boolean {
    this.#space();
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #space(): void {
    spacePattern.lastIndex = this.#at;
    spacePattern.exec(this.#text);
    this.#at = spacePattern.lastIndex;
  }

  #fail(): never {
    const found = this.#text[this.#at];
    throw new JsonSyntaxError(
      found === undefined
        ? "unexpected end of JSON input"
        : `invalid character '${found}' at position ${this.#at}`,
    );
  }
}
