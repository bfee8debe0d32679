/** Text as CEL sees it: a sequence of code points. Texts without surrogates, nearly all, are handled as they are. */
import { codePointCount } from "../syntax/source.ts";

/** The text with code points as units: itself if one unit is one code point, or an array. */
export class CodePoints {
  readonly length: number;
  readonly #text: string;
  readonly #points: readonly string[] | undefined;

  constructor(text: string) {
    this.#text = text;
    this.length = codePointCount(text);
    this.#points = this.length === text.length ? undefined : Array.from(text);
  }

  slice(start: number, end: number = this.length): string {
    if (this.#points === undefined) return this.#text.slice(start, end);
    return this.#points.slice(start, end).join("");
  }

  /** Where `part` starts at or after `from`; -1 if nowhere. */
  indexOf(part: string, from: number): number {
    if (this.#points === undefined) return this.#text.indexOf(part, from);
    const unit = this.#text.indexOf(part, this.slice(0, from).length);
    return unit === -1 ? -1 : codePointCount(this.#text.slice(0, unit));
  }

  /** Where `part` starts last, at or before `from`; -1 if nowhere. */
  lastIndexOf(part: string, from: number): number {
    if (this.#points === undefined) return this.#text.lastIndexOf(part, from);
    const unit = this.#text.lastIndexOf(part, this.slice(0, from).length);
    return unit === -1 ? -1 : codePointCount(this.#text.slice(0, unit));
  }

  points(): readonly string[] {
    return this.#points ?? this.#text.split("");
  }
}
