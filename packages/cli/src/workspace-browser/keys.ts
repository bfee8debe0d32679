/** From the bytes that a terminal sends to the keys that were pressed. */

export type Key = { readonly kind: "text"; readonly text: string } | { readonly kind: NamedKey };

export type NamedKey =
  | "up"
  | "down"
  | "left"
  | "right"
  | "home"
  | "end"
  | "page-up"
  | "page-down"
  | "enter"
  | "backspace"
  | "escape"
  | "interrupt";

const escapeCode = "\u001b";

/** What xterm and its relatives send, and the keys of Emacs for the same. */
const sequences: Readonly<Record<string, NamedKey>> = {
  "[A": "up",
  OA: "up",
  "\u0010": "up",
  "[B": "down",
  OB: "down",
  "\u000e": "down",
  "[C": "right",
  OC: "right",
  "[D": "left",
  OD: "left",
  "[H": "home",
  OH: "home",
  "[1~": "home",
  "[7~": "home",
  "[F": "end",
  OF: "end",
  "[4~": "end",
  "[8~": "end",
  "[5~": "page-up",
  "\u0002": "page-up",
  "[6~": "page-down",
  "\u0006": "page-down",
  "\r": "enter",
  "\n": "enter",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u0003": "interrupt",
  "\u0004": "interrupt",
};

const sequence = /^\u001b(\[[0-?]*[ -/]*[@-~]|O[ -~])/;
/** The beginning of one, whose rest may still come. */
const unfinished = /^\u001b(\[[0-?]*[ -/]*|O)?$/;
/** Longer than any sequence of a terminal: what goes on like this is none. */
const unfinishedMax = 32;

/** The escape key is the beginning of other keys: who reads waits a moment after one, and then asks for `rest`. */
export class KeyReader {
  #pending = "";

  /** True when the last byte may be the beginning of more. */
  get isWaiting(): boolean {
    return this.#pending !== "";
  }

  push(text: string): Key[] {
    let left = this.#pending + text;
    this.#pending = "";
    const keys: Key[] = [];
    while (left !== "") {
      if (unfinished.test(left) && left.length <= unfinishedMax) {
        this.#pending = left;
        break;
      }
      const [whole = "", tail = ""] = sequence.exec(left) ?? [];
      const char = whole === "" ? String.fromCodePoint(left.codePointAt(0) as number) : whole;
      left = left.slice(char.length);
      const key = keyOf(char, tail);
      if (key !== undefined) keys.push(key);
    }
    return keys;
  }

  /** Nothing more came: what was waited with was the escape key, and what came behind it. */
  rest(): Key[] {
    const [first, ...others] = [...this.#pending];
    this.#pending = "";
    if (first === undefined) return [];
    return [{ kind: "escape" }, ...others.map((text): Key => ({ kind: "text", text }))];
  }
}

/** Undefined for what means nothing to anybody. */
function keyOf(char: string, tail: string): Key | undefined {
  const name = sequences[tail === "" ? char : tail];
  if (name !== undefined) return { kind: name };
  if (char === escapeCode) return { kind: "escape" };
  return tail === "" && !isControl(char) ? { kind: "text", text: char } : undefined;
}

export function isControl(char: string): boolean {
  return /[\u0000-\u001f\u007f-\u009f]/.test(char);
}
