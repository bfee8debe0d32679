/**
 * Walks over the tokens of an expression; one superfluous token is reported and dropped, as ANTLR
 * does.
 */
import { ISSUES_MAX } from "../limits.ts";
import type { Token } from "./lexer.ts";
import type { Issue } from "./source.ts";
import { extraneous, isExtraneous, mismatched, tokenName, WORD_TOKENS } from "./syntax-error.ts";

export class TokenCursor {
  readonly issues: Issue[] = [];
  readonly #tokens: readonly Token[];
  #at = 0;

  /** `tokens` ends with the token of kind `end`. */
  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  peek(offset = 0): Token {
    const token = this.#tokens[Math.min(this.#at + offset, this.#tokens.length - 1)];
    if (token === undefined) throw new RangeError("no tokens");
    return token;
  }

  next(): Token {
    const token = this.peek();
    if (token.kind !== "end") this.#at++;
    return token;
  }

  /** True when the token is the symbol or word `text`. */
  sees(text: string, offset = 0): boolean {
    const token = this.peek(offset);
    return token.text === text && tokenName(token) === `'${text}'`;
  }

  seesName(offset = 0): boolean {
    const token = this.peek(offset);
    return token.kind === "ident" && !WORD_TOKENS.has(token.text);
  }

  accept(text: string): Token | undefined {
    return this.sees(text) ? this.next() : undefined;
  }

  /** The next token, which must be one of the symbols. */
  expect(...texts: readonly string[]): Token {
    if (!texts.some((text) => this.sees(text))) this.dropOrFail(texts.map((text) => `'${text}'`));
    return this.next();
  }

  /** Reports the next token; returns if leaving it out helps, throws otherwise. */
  dropOrFail(expected: readonly string[]): void {
    const token = this.peek();
    if (!isExtraneous(token, this.peek(1), expected)) throw mismatched(token, expected);
    this.issues.push(extraneous(token, expected).issue);
    this.next();
  }

  report(position: number, message: string): void {
    if (this.issues.length < ISSUES_MAX) this.issues.push({ message, position });
  }
}
