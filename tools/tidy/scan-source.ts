/**
 * Splits TypeScript into code, literals and comments, by one pass over its characters. No parser:
 * what the rules ask can be told from text in which nothing pretends to be something else. Lengths
 * and line breaks are kept, so an index means the same in every view.
 */
export interface ScannedSource {
  /** Comments and the insides of strings, templates and regular expressions are spaces. */
  readonly code: string;
  /** Only comments are spaces. */
  readonly uncommented: string;
}

export function scanSource(text: string): ScannedSource {
  return new Scanner(text).scan();
}

class Scanner {
  readonly #text: string;
  readonly #code: string[];
  readonly #uncommented: string[];
  /** For each open template: how many braces are open in its current `${}`. */
  readonly #templates: number[] = [];
  #at = 0;
  /** The last characters of code, to tell a division from a regular expression. */
  #before = "";

  constructor(text: string) {
    this.#text = text;
    this.#code = [...splitUnits(text)];
    this.#uncommented = [...this.#code];
  }

  scan(): ScannedSource {
    while (this.#at < this.#text.length) this.#step();
    return { code: this.#code.join(""), uncommented: this.#uncommented.join("") };
  }

  #step(): void {
    const text = this.#text;
    const char = text[this.#at] as string;
    if (text.startsWith("//", this.#at)) this.#comment(endOr(text, text.indexOf("\n", this.#at)));
    else if (text.startsWith("/*", this.#at)) {
      this.#comment(endOr(text, text.indexOf("*/", this.#at + 2) + 2));
    } else if (char === '"' || char === "'") this.#string(char);
    else if (char === "`") this.#template(this.#at + 1);
    else if (char === "/" && regexBefore.test(this.#before)) this.#regex();
    else this.#plain(char);
  }

  #plain(char: string): void {
    const depth = this.#templates.at(-1);
    if (char === "}" && depth === 0) {
      this.#templates.pop();
      this.#template(this.#at + 1);
      return;
    }
    if (depth !== undefined && (char === "{" || char === "}")) {
      this.#templates.push((this.#templates.pop() as number) + (char === "{" ? 1 : -1));
    }
    if (!/\s/.test(char)) this.#before = (this.#before + char).slice(-12);
    else if (/\w$/.test(this.#before)) this.#before = `${this.#before} `.slice(-12);
    this.#at++;
  }

  #comment(end: number): void {
    blank(this.#code, this.#at, end);
    blank(this.#uncommented, this.#at, end);
    this.#at = end;
  }

  #string(quote: string): void {
    let end = this.#at + 1;
    while (end < this.#text.length && this.#text[end] !== quote) {
      end += this.#text[end] === "\\" ? 2 : 1;
    }
    this.#literal(this.#at + 1, end, end + 1);
  }

  /** From behind a backtick, or behind the brace that ends a `${}`. */
  #template(start: number): void {
    const text = this.#text;
    let end = start;
    while (end < text.length && text[end] !== "`" && !text.startsWith("${", end)) {
      end += text[end] === "\\" ? 2 : 1;
    }
    const opens = text.startsWith("${", end);
    this.#literal(start, end, end + (opens ? 2 : 1));
    if (opens) this.#templates.push(0);
    this.#before = opens ? "{" : '"';
  }

  #regex(): void {
    const text = this.#text;
    let end = this.#at + 1;
    let inClass = false;
    while (end < text.length && text[end] !== "\n" && (inClass || text[end] !== "/")) {
      if (text[end] === "[") inClass = true;
      if (text[end] === "]") inClass = false;
      end += text[end] === "\\" ? 2 : 1;
    }
    this.#literal(this.#at + 1, end, end + 1);
  }

  #literal(start: number, end: number, next: number): void {
    blank(this.#code, start, end);
    this.#before = '"';
    this.#at = next;
  }
}

/** A slash behind one of these begins a regular expression. */
const regexBefore =
  /(?:^|[(,=:[!&|?{};+*%<>~^-]|\b(?:return|typeof|case|in|of|await|yield|void))\s*$/;

function endOr(text: string, index: number): number {
  return index < 2 ? text.length : index;
}

function splitUnits(text: string): string[] {
  return text.split("");
}

function blank(characters: string[], start: number, end: number): void {
  for (let at = start; at < end && at < characters.length; at++) {
    if (characters[at] !== "\n") characters[at] = " ";
  }
}
