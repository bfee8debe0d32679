/**
 * Cuts an expression into tokens, by the lexical rules of CEL's grammar.
 *
 * Text that is no token is reported and skipped, so that one pass finds the parser's problems as
 * well.
 */
import type { Issue } from "./source.ts";

export type TokenKind =
  | "ident"
  | "escaped-ident"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "symbol"
  | "end";

export interface Token {
  readonly kind: TokenKind;
  /**
   * The source text; for symbols and the words `in`, `true`, `false` and `null` it tells them
   * apart.
   */
  readonly text: string;
  readonly position: number;
}

export interface LexedSource {
  readonly tokens: readonly Token[];
  readonly issues: readonly Issue[];
}

export function lex(text: string): LexedSource {
  const tokens: Token[] = [];
  const issues: Issue[] = [];
  let at = 0;
  while (at < text.length) {
    const blank = skipBlank(text, at);
    if (blank > at) {
      at = blank;
      continue;
    }
    const match = matchToken(text, at);
    if (match.kind === undefined) {
      const end = Math.min(pointEnd(text, match.end), text.length);
      issues.push({ message: unrecognized(text.slice(at, end)), position: at });
      at = end;
      continue;
    }
    tokens.push({ kind: match.kind, text: text.slice(at, match.end), position: at });
    at = match.end;
  }
  tokens.push({ kind: "end", text: "<EOF>", position: text.length });
  return { tokens, issues };
}

function unrecognized(text: string): string {
  const shown = text.replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r");
  return `Syntax error: token recognition error at: '${shown}'`;
}

/**
 * Either a token ending before `end`, or no token, with the character at `end` the first that fits
 * none.
 */
interface Match {
  readonly kind: TokenKind | undefined;
  readonly end: number;
}

function matchToken(text: string, at: number): Match {
  const first = text.charCodeAt(at);
  const second = text.charCodeAt(at + 1);
  if (isDigit(first) || (first === DOT && isDigit(second))) return matchNumber(text, at);
  if (first === QUOTE || first === DOUBLE_QUOTE) return matchString(text, at, { raw: false });
  if (isLetter(first)) return matchWord(text, at);
  if (first === BACKTICK) return matchEscapedIdent(text, at);
  return matchSymbol(text, at);
}

const DOT = 0x2e;
const QUOTE = 0x27;
const DOUBLE_QUOTE = 0x22;
const BACKTICK = 0x60;
const BACKSLASH = 0x5c;

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

function isHexDigit(unit: number): boolean {
  return isDigit(unit) || (unit >= 0x41 && unit <= 0x46) || (unit >= 0x61 && unit <= 0x66);
}

function isLetter(unit: number): boolean {
  return (unit >= 0x41 && unit <= 0x5a) || (unit >= 0x61 && unit <= 0x7a) || unit === 0x5f;
}

function skipBlank(text: string, at: number): number {
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === 0x20 || unit === 0x09 || unit === 0x0a || unit === 0x0d || unit === 0x0c) at++;
    else if (unit === 0x2f && text.charCodeAt(at + 1) === 0x2f) {
      const end = text.indexOf("\n", at);
      at = end === -1 ? text.length : end;
    } else break;
  }
  return at;
}

function skipWhile(text: string, at: number, test: (unit: number) => boolean): number {
  while (at < text.length && test(text.charCodeAt(at))) at++;
  return at;
}

function pointEnd(text: string, at: number): number {
  const point = text.codePointAt(at);
  return at + (point !== undefined && point > 0xffff ? 2 : 1);
}

function matchNumber(text: string, at: number): Match {
  if (text.startsWith("0x", at) && isHexDigit(text.charCodeAt(at + 2))) {
    return withUnsignedSuffix(text, skipWhile(text, at + 2, isHexDigit));
  }
  let end = skipWhile(text, at, isDigit);
  const whole = end;
  if (text.charCodeAt(end) === DOT && isDigit(text.charCodeAt(end + 1))) {
    end = skipWhile(text, end + 1, isDigit);
  }
  const exponent = skipExponent(text, end);
  if (exponent > whole) return { kind: "double", end: exponent };
  return withUnsignedSuffix(text, whole);
}

function skipExponent(text: string, at: number): number {
  const letter = text.charCodeAt(at);
  if (letter !== 0x65 && letter !== 0x45) return at;
  const sign = text.charCodeAt(at + 1);
  const digits = sign === 0x2b || sign === 0x2d ? at + 2 : at + 1;
  return isDigit(text.charCodeAt(digits)) ? skipWhile(text, digits, isDigit) : at;
}

function withUnsignedSuffix(text: string, end: number): Match {
  const suffix = text.charCodeAt(end);
  return suffix === 0x75 || suffix === 0x55 ? { kind: "uint", end: end + 1 } : { kind: "int", end };
}

function matchWord(text: string, at: number): Match {
  const end = skipWhile(text, at, (unit) => isLetter(unit) || isDigit(unit));
  const quote = text.charCodeAt(end);
  if (quote === QUOTE || quote === DOUBLE_QUOTE) {
    const prefix = text.slice(at, end).toLowerCase();
    if (prefix === "r" || prefix === "b" || prefix === "br") {
      const match = matchString(text, end, { raw: prefix !== "b" });
      if (match.kind !== undefined) {
        return { kind: prefix === "r" ? "string" : "bytes", end: match.end };
      }
    }
  }
  return { kind: "ident", end };
}

function matchEscapedIdent(text: string, at: number): Match {
  const end = skipWhile(text, at + 1, (unit) => {
    return (
      isLetter(unit) ||
      isDigit(unit) ||
      unit === DOT ||
      unit === 0x2d ||
      unit === 0x2f ||
      unit === 0x20
    );
  });
  if (text.charCodeAt(end) === BACKTICK && end > at + 1)
    return { kind: "escaped-ident", end: end + 1 };
  return { kind: undefined, end };
}

const SYMBOLS_TWO = new Set(["==", "!=", "<=", ">=", "&&", "||"]);
const SYMBOLS_ONE = new Set([..."<>[]{}().,-!?:+*/%"]);

function matchSymbol(text: string, at: number): Match {
  if (SYMBOLS_TWO.has(text.slice(at, at + 2))) return { kind: "symbol", end: at + 2 };
  const one = text.charAt(at);
  if (SYMBOLS_ONE.has(one)) return { kind: "symbol", end: at + 1 };
  const startsPair = one === "=" || one === "&" || one === "|";
  return { kind: undefined, end: startsPair ? at + 1 : at };
}

function matchString(text: string, at: number, options: { raw: boolean }): Match {
  const quote = text.charAt(at);
  if (text.startsWith(quote.repeat(3), at)) {
    const match = matchStringBody(text, at + 3, quote.repeat(3), options);
    if (match.kind !== undefined) return match;
    // An unclosed triple quote still begins with an empty string.
    return { kind: "string", end: at + 2 };
  }
  return matchStringBody(text, at + 1, quote, options);
}

function matchStringBody(
  text: string,
  at: number,
  closing: string,
  { raw }: { raw: boolean },
): Match {
  while (at < text.length) {
    if (text.startsWith(closing, at)) return { kind: "string", end: at + closing.length };
    const unit = text.charCodeAt(at);
    if (closing.length === 1 && (unit === 0x0a || unit === 0x0d)) break;
    if (unit === BACKSLASH && !raw) {
      const sequence = matchEscape(text, at);
      if (sequence.kind === undefined) return sequence;
      at = sequence.end;
    } else at++;
  }
  return { kind: undefined, end: at };
}

const ESCAPED_CHARACTERS = new Set([..."abfnrtv\"'\\?`"]);

function matchEscape(text: string, at: number): Match {
  const letter = text.charAt(at + 1);
  if (ESCAPED_CHARACTERS.has(letter)) return { kind: "string", end: at + 2 };
  const digits = letter === "x" || letter === "X" ? 2 : letter === "u" ? 4 : letter === "U" ? 8 : 0;
  if (digits > 0) {
    const end = skipWhile(text.slice(0, at + 2 + digits), at + 2, isHexDigit);
    return end === at + 2 + digits ? { kind: "string", end } : { kind: undefined, end };
  }
  if (letter >= "0" && letter <= "3" && letter !== "") {
    const end = skipWhile(text.slice(0, at + 4), at + 2, (unit) => unit >= 0x30 && unit <= 0x37);
    return end === at + 4 ? { kind: "string", end } : { kind: undefined, end };
  }
  return { kind: undefined, end: at + 1 };
}
