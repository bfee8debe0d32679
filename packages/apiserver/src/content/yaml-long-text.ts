/**
 * Encodes a long string as YAML, some kilobytes at a time: in double quotes, which can contain any
 * string without examining it completely.
 */

/**
 * The minimum length of strings that are encoded here; the library scans each character of a string
 * several times before it chooses a style.
 */
export const longTextChars: number = 8 << 10;

export function isLongText(value: unknown): value is string {
  return typeof value === "string" && value.length > longTextChars;
}

/** Including the quotes. */
export function* longTextParts(text: string): Generator<string, void, void> {
  yield '"';
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + longTextChars, text.length);
    if (isHighSurrogate(text.charCodeAt(to - 1))) to = Math.min(to + 1, text.length);
    yield escaped(text.slice(from, to));
    from = to;
  }
  yield '"';
}

/**
 * Escapes the characters that JSON escapes, and those that YAML treats as line ends or does not
 * allow.
 */
function escaped(part: string): string {
  return JSON.stringify(part).slice(1, -1).replaceAll(unprintable, numbered);
}

const unprintable = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

function numbered(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
