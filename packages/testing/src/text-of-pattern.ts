/**
 * A text that a regular expression matches, by seed: for fields with a `pattern`. It knows what
 * patterns of schemas are made of: classes, groups, alternatives and repetitions.
 */
import type { SeededRandom } from "@kcp-ts/testkit";

/** Repetitions beyond the least number of them. */
const repetitionsMax = 3;
const tries = 8;

/** Undefined where the expression has parts that are not known here, such as a lookahead. */
export function textOfPattern(pattern: string, random: SeededRandom): string | undefined {
  const expression = expressionOf(pattern);
  if (expression === undefined) return undefined;
  for (let attempt = 0; attempt < tries; attempt++) {
    const text = new PatternWalk(pattern, random).alternatives();
    if (text !== undefined && expression.test(text)) return text;
  }
  return undefined;
}

/** Undefined for syntax that servers have (RE2) and JavaScript has not. */
export function expressionOf(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

class PatternWalk {
  readonly #pattern: string;
  readonly #random: SeededRandom;
  #at = 0;

  constructor(pattern: string, random: SeededRandom) {
    this.#pattern = pattern;
    this.#random = random;
  }

  /** One of the branches up to the end of the group. */
  alternatives(): string | undefined {
    const branches = [this.#branch()];
    while (this.#pattern[this.#at] === "|") {
      this.#at++;
      branches.push(this.#branch());
    }
    return branches[this.#random.integer(branches.length)];
  }

  #branch(): string | undefined {
    let text: string | undefined = "";
    for (;;) {
      const next = this.#pattern[this.#at];
      if (next === undefined || next === "|" || next === ")") return text;
      const from = this.#at;
      const first = this.#atom();
      const [least, most] = this.#repetitions();
      const end = this.#at;
      const count = least + this.#random.integer(most - least + 1);
      for (let n = 0; n < count; n++) {
        // Each repetition chooses anew.
        this.#at = from;
        const one = n === 0 && first === undefined ? undefined : this.#atom();
        text = text === undefined || one === undefined ? undefined : text + one;
      }
      this.#at = end;
    }
  }

  #atom(): string | undefined {
    const character = this.#pattern[this.#at++] ?? "";
    switch (character) {
      case "^":
      case "$":
        return "";
      case ".":
        return this.#one(letters);
      case "\\":
        return this.#one(escaped(this.#pattern[this.#at++] ?? ""));
      case "[":
        return this.#one(this.#characterClass());
      case "(":
        return this.#group();
      default:
        return character;
    }
  }

  #group(): string | undefined {
    const [, prefix = ""] = /^(\?(?::|<\w+>|P<\w+>))/.exec(this.#pattern.slice(this.#at)) ?? [];
    const isKnown = prefix !== "" || this.#pattern[this.#at] !== "?";
    this.#at += prefix.length;
    const text = this.alternatives();
    this.#at++;
    return isKnown ? text : undefined;
  }

  #characterClass(): string {
    const isNegated = this.#pattern[this.#at] === "^";
    if (isNegated) this.#at++;
    let members = "";
    while (this.#pattern[this.#at] !== "]") {
      const character = this.#pattern[this.#at++];
      if (character === undefined) break;
      if (character === "\\") members += escaped(this.#pattern[this.#at++] ?? "");
      else if (this.#pattern[this.#at] === "-" && this.#pattern[this.#at + 1] !== "]") {
        members += range(character, this.#pattern[this.#at + 1] ?? "");
        this.#at += 2;
      } else members += character;
    }
    this.#at++;
    return isNegated ? [...printable].filter((one) => !members.includes(one)).join("") : members;
  }

  #repetitions(): readonly [least: number, most: number] {
    const found = /^(?:([?*+])|\{(\d+)(,?)(\d*)\})\??/.exec(this.#pattern.slice(this.#at));
    if (found === null) return [1, 1];
    const [whole, sign, first = "", comma, last = ""] = found;
    this.#at += whole.length;
    if (sign === "?") return [0, 1];
    if (sign !== undefined) return [sign === "+" ? 1 : 0, repetitionsMax];
    const least = Number(first);
    if (comma === "") return [least, least];
    return [least, Math.min(last === "" ? Infinity : Number(last), least + repetitionsMax)];
  }

  #one(characters: string): string | undefined {
    return characters === "" ? undefined : characters[this.#random.integer(characters.length)];
  }
}

function range(from: string, to: string): string {
  const [first, last] = [from.charCodeAt(0), to.charCodeAt(0)];
  const length = Math.max(0, Math.min(last, 0x7e) - first + 1);
  return String.fromCharCode(...Array.from({ length }, (_, n) => first + n));
}

const letters = range("a", "z");
const digits = range("0", "9");
const printable = range(" ", "~");

function escaped(character: string): string {
  switch (character) {
    case "d":
      return digits;
    case "w":
      return `${letters}${digits}_`;
    case "s":
      return " ";
    case "D":
    case "S":
    case "W":
      return character === "W" ? "-" : letters;
    default:
      // Those that stand for places and for other parts of the text are not known.
      return /[a-zA-Z0-9]/.test(character) ? "" : character;
  }
}
