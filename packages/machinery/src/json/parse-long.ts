/**
 * Parses a long JSON text resumably: its containers are scanned, and their members are passed to
 * the parser for short texts, some kilobytes at a time.
 *
 * It gives up on invalid syntax and on duplicate members: then the text is parsed at once, which
 * has the exact error.
 */
import { type Resumable, YieldCounter } from "../base/index.ts";
import { skipString } from "./json-scanner.ts";
import type { ParsedJson } from "./parse-lossless.ts";
import { JsonSyntaxError } from "./syntax-error.ts";
import { type JsonObject, type JsonValue, setMember } from "./value.ts";

export interface ResumableParseLimits {
  /** Characters that are parsed per step; a string is never cut. */
  readonly chars: number;
  /** Members that are added to an object per step. */
  readonly members: number;
}

const pieceDefaults: ResumableParseLimits = { chars: 16 << 10, members: 500 };
/** Real numbers have some twenty characters. */
const wordCharsMax = 16 << 10;

/** Undefined when the text has to be parsed at once. `parseShort` throws for invalid JSON. */
export function* parseLong(
  text: string,
  parseShort: (text: string) => ParsedJson,
  limits: ResumableParseLimits = pieceDefaults,
): Resumable<JsonValue | undefined> {
  const parser = new LongParser(text, parseShort, limits);
  try {
    return yield* parser.document();
  } catch (error) {
    if (error instanceof GivenUp) return undefined;
    throw error;
  }
}

class GivenUp extends Error {}

/**
 * The container that is being filled: short entries are parsed together, and long ones one by one.
 */
interface Container {
  readonly open: "{" | "[";
  readonly close: "}" | "]";
  addShort(part: JsonValue): Resumable<void>;
  addLong(key: string, value: JsonValue): void;
}

class LongParser {
  readonly #text: string;
  readonly #parseShort: (text: string) => ParsedJson;
  readonly #limits: ResumableParseLimits;
  #at = 0;

  constructor(
    text: string,
    parseShort: (text: string) => ParsedJson,
    limits: ResumableParseLimits,
  ) {
    this.#text = text;
    this.#parseShort = parseShort;
    this.#limits = limits;
  }

  *document(): Resumable<JsonValue> {
    this.#space();
    const value = yield* this.#long();
    this.#space();
    if (this.#at !== this.#text.length) throw new GivenUp();
    return value;
  }

  /** A long value: an object or array, or a string, which is not cut. */
  *#long(): Resumable<JsonValue> {
    const first = this.#text[this.#at];
    if (first === "{") {
      const object: { [key: string]: JsonValue } = {};
      yield* this.#fill(objectContainer(object, this.#limits));
      return object;
    }
    if (first === "[") {
      const array: JsonValue[] = [];
      yield* this.#fill(arrayContainer(array, this.#limits));
      return array;
    }
    if (first !== '"') throw new GivenUp();
    const from = this.#at;
    this.#at = skipString(this.#text, from) + 1;
    yield;
    return this.#string(this.#text.slice(from, this.#at));
  }

  *#fill(container: Container): Resumable<void> {
    const { open, close } = container;
    this.#at++;
    this.#space();
    if (this.#takes(close)) return;
    /** The start of the short entries that have not been parsed yet. */
    let from = this.#at;
    for (let to = from, isLast = false; !isLast; ) {
      const entryAt = this.#at;
      const key = open === "{" ? this.#key() : "";
      const isShort = this.#skipsShort();
      if (!isShort) {
        // Detecting it scanned as much as is parsed per step, and such values may be nested.
        yield;
        if (entryAt > from) yield* this.#addShort(container, from, to);
        container.addLong(key === "" ? "" : this.#string(key), yield* this.#long());
      }
      to = this.#at;
      this.#space();
      isLast = this.#takes(close);
      if (!isLast && !this.#takes(",")) throw new GivenUp();
      this.#space();
      if (isShort && !isLast && to - from < this.#limits.chars) continue;
      if (isShort) yield* this.#addShort(container, from, to);
      from = this.#at;
    }
  }

  *#addShort({ open, close, addShort }: Container, from: number, to: number): Resumable<void> {
    yield* addShort(this.#parse(`${open}${this.#text.slice(from, to)}${close}`));
    yield;
  }

  /** The raw text between quotes. */
  #string(written: string): string {
    return (this.#parse(`[${written}]`) as readonly string[])[0] ?? "";
  }

  #parse(text: string): JsonValue {
    try {
      const { value, duplicates } = this.#parseShort(text);
      if (duplicates.length === 0) return value;
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
    }
    throw new GivenUp();
  }

  /** Moves to the value of a member; returns the raw key. */
  #key(): string {
    if (this.#text[this.#at] !== '"') throw new GivenUp();
    const from = this.#at;
    this.#at = skipString(this.#text, from) + 1;
    const to = this.#at;
    this.#space();
    if (!this.#takes(":")) throw new GivenUp();
    this.#space();
    return this.#text.slice(from, to);
  }

  /** Moves to the end of the value if it is near. */
  #skipsShort(): boolean {
    const text = this.#text;
    const first = text.charCodeAt(this.#at);
    if (first !== 0x22 && first !== 0x7b && first !== 0x5b) return this.#skipsWord();
    const end = Math.min(text.length, this.#at + this.#limits.chars);
    let depth = 0;
    for (let i = this.#at; i < end; i++) {
      const code = text.charCodeAt(i);
      if (code === 0x22) i = skipString(text, i);
      else if (code === 0x7b || code === 0x5b) depth++;
      else if (code === 0x7d || code === 0x5d) depth--;
      if (depth > 0) continue;
      if (i >= end) return false;
      this.#at = i + 1;
      return true;
    }
    return false;
  }

  /**
   * Numbers, true, false and null: the text up to the next comma, bracket or space. The lossless
   * parser, which yields, parses numbers of thousands of digits.
   */
  #skipsWord(): true {
    const from = this.#at;
    for (; this.#at < this.#text.length; this.#at++) {
      if (this.#at - from > wordCharsMax) throw new GivenUp();
      const code = this.#text.charCodeAt(this.#at);
      if (code === 0x2c || code === 0x7d || code === 0x5d || code <= 0x20) break;
    }
    if (this.#at === from) throw new GivenUp();
    return true;
  }

  #takes(char: string): boolean {
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at++;
    }
  }
}

function objectContainer(
  object: { [key: string]: JsonValue },
  { members }: ResumableParseLimits,
): Container {
  const put = (key: string, value: JsonValue) => {
    if (Object.hasOwn(object, key)) throw new GivenUp();
    setMember(object, key, value);
  };
  return {
    open: "{",
    close: "}",
    *addShort(part) {
      const pace = new YieldCounter(members);
      for (const key of Object.keys(part as JsonObject)) {
        put(key, (part as JsonObject)[key] as JsonValue);
        if (pace.isTime()) yield;
      }
    },
    addLong: put,
  };
}

function arrayContainer(array: JsonValue[], { members }: ResumableParseLimits): Container {
  return {
    open: "[",
    close: "]",
    *addShort(part) {
      const pace = new YieldCounter(members);
      for (const item of part as readonly JsonValue[]) {
        array.push(item);
        if (pace.isTime()) yield;
      }
    },
    addLong: (_, value) => array.push(value),
  };
}
