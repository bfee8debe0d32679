/**
 * Text as CEL sees it: a sequence of code points. Texts without surrogates, nearly all, are handled
 * as they are.
 */
import { codePointCount } from "../syntax/source.ts";
import { chargeSteps, chargeText } from "./step-counter.ts";

/** The text with code points as units. */
export class CodePoints {
  readonly length: number;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
    this.length = codePointCount(text);
    if (this.#isPaired) chargeText(text.length, 4);
  }

  /** Some code points take two units. */
  get #isPaired(): boolean {
    return this.length !== this.#text.length;
  }

  slice(start: number, end: number = this.length): string {
    return this.#text.slice(this.#unit(start), this.#unit(end));
  }

  /** Where `part` starts at or after `from`; -1 if nowhere. */
  indexOf(part: string, from: number): number {
    chargeText(this.#text.length);
    return this.#pointAt(this.#text.indexOf(part, this.#unit(from)));
  }

  /** Where `part` starts last, at or before `from`; -1 if nowhere. */
  lastIndexOf(part: string, from: number): number {
    // Going backwards, every place is compared for as far as it agrees.
    chargeText(this.#text.length, part.length);
    return this.#pointAt(this.#text.lastIndexOf(part, this.#unit(from)));
  }

  points(): readonly string[] {
    chargeSteps(this.length);
    return this.#isPaired ? Array.from(this.#text) : this.#text.split("");
  }

  /** The UTF-16 unit at which a code point starts. */
  #unit(point: number): number {
    if (!this.#isPaired) return point;
    if (point >= this.length) return this.#text.length;
    let unit = 0;
    for (let i = 0; i < point; i++) unit += (this.#text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
    return unit;
  }

  #pointAt(unit: number): number {
    if (!this.#isPaired || unit === -1) return unit;
    return codePointCount(this.#text.slice(0, unit));
  }
}
