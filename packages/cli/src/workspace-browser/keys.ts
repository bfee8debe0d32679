/** Decodes the bytes of a terminal to keys. */

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

/** The sequences of xterm-compatible terminals, and the Emacs keys for the same. */
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
/** The beginning of a sequence whose rest may still arrive. */
const unfinished = /^\u001b(\[[0-?]*[ -/]*|O)?$/;
/** Longer than any sequence of a terminal: longer input is no sequence. */
const unfinishedMax = 32;

/**
 * The escape key is also the beginning of other keys: the reader waits a moment after it, and then
 * calls `rest`.
 */
export class KeyReader {
  #pending = "";

  /** True when the last byte may be the beginning of a sequence. */
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

  /** No more bytes arrived: the pending bytes are the escape key, and the characters after it. */
  rest(): Key[] {
    const [first, ...others] = [...this.#pending];
    this.#pending = "";
    if (first === undefined) return [];
    return [{ kind: "escape" }, ...others.map((text): Key => ({ kind: "text", text }))];
  }
}

/** Undefined for unknown keys. */
function keyOf(char: string, tail: string): Key | undefined {
  const name = sequences[tail === "" ? char : tail];
  if (name !== undefined) return { kind: name };
  if (char === escapeCode) return { kind: "escape" };
  return tail === "" && !isControl(char) ? { kind: "text", text: char } : undefined;
}

export function isControl(char: string): boolean {
  return /[\u0000-\u001f\u007f-\u009f]/.test(char);
}
