/**
 * An expression's text, and the problems found in it, in the form in which cel-go prints them:
 *
 *     ERROR: <input>:1:6: undefined field 'x'
 *      | self.x == 1
 *      | ....^
 *
 * Positions inside the engine are UTF-16 offsets; lines and columns (in code points) exist only in
 * print.
 */
import { ISSUES_MAX, QUOTED_LENGTH_MAX } from "../limits.ts";

/** A problem in an expression. A problem of the whole has no position. */
export interface Issue {
  readonly message: string;
  readonly position: number | undefined;
}

/**
 * Lines longer than this are not quoted in a printed problem, in UTF-16 units (cel-go's
 * maxSnippetLength).
 */
const SNIPPET_LENGTH_MAX = 16_384;

export function printIssues(text: string, issues: readonly Issue[]): string {
  // Problems of the whole first; the order of positions is that of lines and columns.
  const sorted = issues.toSorted((a, b) => (a.position ?? -1) - (b.position ?? -1));
  const places = new Places(text);
  let quoted = 0;
  const printed = sorted.slice(0, ISSUES_MAX).map(({ message, position }) => {
    if (position === undefined) return `ERROR: <input>:-1:0: ${message}`;
    const place = places.next(position);
    const head = `ERROR: <input>:${place.line}:${place.column + 1}: ${message}`;
    if (quoted > QUOTED_LENGTH_MAX) return head;
    const line = quoteLine(text, place);
    quoted += line.length;
    return head + line;
  });
  if (issues.length > ISSUES_MAX) {
    printed.push(`${issues.length - ISSUES_MAX} more errors were truncated`);
  }
  return printed.join("\n");
}

interface Place {
  /** From 1. */
  readonly line: number;
  /** From 0, in code points. */
  readonly column: number;
  readonly lineStart: number;
}

/** Finds places one after the other, each text position looked at once. */
class Places {
  readonly #text: string;
  #line = 1;
  #lineStart = 0;
  #at = 0;
  #column = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Of a position that is not before the last one. */
  next(position: number): Place {
    for (
      let next = this.#text.indexOf("\n", this.#at);
      next !== -1 && next < position;
      next = this.#text.indexOf("\n", this.#at)
    ) {
      this.#line++;
      this.#lineStart = next + 1;
      this.#at = next + 1;
      this.#column = 0;
    }
    this.#column += codePointCount(this.#text.slice(this.#at, position));
    this.#at = position;
    return { line: this.#line, column: this.#column, lineStart: this.#lineStart };
  }
}

function quoteLine(text: string, place: Place): string {
  const end = text.indexOf("\n", place.lineStart);
  const line = text.slice(place.lineStart, end === -1 ? text.length : end).replaceAll("\t", " ");
  if (line.length > SNIPPET_LENGTH_MAX) return "";
  const points = [...line];
  let marks = "";
  for (const point of points.slice(0, place.column)) marks += isWide(point) ? "\uff0e" : ".";
  marks += isWide(points[place.column]) ? "\uff3e" : "^";
  return `\n | ${line}\n | ${marks}`;
}

/** cel-go decides by UTF-8 length: anything beyond ASCII is taken to be wide. */
function isWide(point: string | undefined): boolean {
  return point !== undefined && point.charCodeAt(0) > 0x7f;
}

/** The number of Unicode code points in `text`, which is what CEL calls its size. */
export function codePointCount(text: string): number {
  let count = text.length;
  // The engine knows at once that a text of one byte for each character has none of them.
  if (!/[\ud800-\udbff]/.test(text)) return count;
  for (let i = 0; i < text.length - 1; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next < 0xe000) {
        count--;
        i++;
      }
    }
  }
  return count;
}
