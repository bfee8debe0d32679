import { shownText } from "./shown-text.ts";

/**
 * A string as Go's `%q` prints it: double quotes, Go escapes, printable Unicode kept. A string
 * beyond `shownTextMax` is truncated.
 */
export function quote(text: string): string {
  let out = '"';
  for (const char of shownText(text))
    out += escapes.get(char) ?? (isPrintable(char) ? char : escapeRune(char));
  return `${out}"`;
}

const escapes = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\u0007", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
]);

function isPrintable(char: string): boolean {
  return char === " " || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char);
}

function escapeRune(char: string): string {
  const code = char.codePointAt(0) as number;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code < 0x10000
    ? `\\u${code.toString(16).padStart(4, "0")}`
    : `\\U${code.toString(16).padStart(8, "0")}`;
}
