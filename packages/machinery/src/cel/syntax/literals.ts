/**
 * From the text of a literal token to its value.
 *
 * A literal that is no value comes back as `{ problem }`, in cel-go's words.
 */
import type { LiteralValue } from "./ast.ts";
import type { Token } from "./lexer.ts";

export interface Problem {
  readonly problem: string;
}

/**
 * The value of a literal token; nothing when the token is no literal. `negative` goes with numbers
 * only.
 */
export function literalOf(token: Token, negative: boolean): LiteralValue | Problem | undefined {
  switch (token.kind) {
    case "int":
      return intLiteral(token.text, negative);
    case "uint":
      return uintLiteral(token.text);
    case "double":
      return doubleLiteral(token.text, negative);
    case "string":
      return stringLiteral(token.text);
    case "bytes":
      return bytesLiteral(token.text);
    case "ident":
      if (token.text === "null") return { type: "null", value: null };
      if (token.text === "true") return { type: "bool", value: true };
      return token.text === "false" ? { type: "bool", value: false } : undefined;
    default:
      return undefined;
  }
}

const INT_MIN = -(2n ** 63n);
const INT_MAX = 2n ** 63n - 1n;
const UINT_MAX = 2n ** 64n - 1n;

function intLiteral(text: string, negative: boolean): LiteralValue | Problem {
  const magnitude = BigInt(text);
  const value = negative ? -magnitude : magnitude;
  if (value < INT_MIN || value > INT_MAX) return { problem: "invalid int literal" };
  return { type: "int", value };
}

function uintLiteral(text: string): LiteralValue | Problem {
  const value = BigInt(text.slice(0, -1));
  if (value > UINT_MAX) return { problem: "invalid uint literal" };
  return { type: "uint", value };
}

function doubleLiteral(text: string, negative: boolean): LiteralValue | Problem {
  const value = Number(text);
  if (!Number.isFinite(value)) return { problem: "invalid double literal" };
  return { type: "double", value: negative ? -value : value };
}

function stringLiteral(text: string): LiteralValue | Problem {
  const body = bodyOf(text);
  if (body.raw || !body.text.includes("\\")) return { type: "string", value: body.text };
  let value = "";
  for (const part of unescapeParts(body.text)) {
    if (part.kind === "text") {
      value += part.text;
      continue;
    }
    if (part.value > 0x10ffff || (part.value >= 0xd800 && part.value < 0xe000)) {
      return { problem: "invalid unicode code point" };
    }
    value += String.fromCodePoint(part.value);
  }
  return { type: "string", value };
}

function bytesLiteral(text: string): LiteralValue | Problem {
  const body = bodyOf(text.slice(1));
  const encoder = new TextEncoder();
  if (body.raw || !body.text.includes("\\"))
    return { type: "bytes", value: encoder.encode(body.text) };
  const bytes: number[] = [];
  for (const part of unescapeParts(body.text)) {
    if (part.kind === "text") bytes.push(...encoder.encode(part.text));
    else if (part.kind === "unicode") return { problem: "unable to unescape string" };
    else bytes.push(part.value & 0xff);
  }
  return { type: "bytes", value: Uint8Array.from(bytes) };
}

function bodyOf(literal: string): { text: string; raw: boolean } {
  const raw = literal.startsWith("r") || literal.startsWith("R");
  const quoted = raw ? literal.slice(1) : literal;
  const triple = quoted.length >= 6 && (quoted.startsWith("'''") || quoted.startsWith('"""'));
  const inner = triple ? quoted.slice(3, -3) : quoted.slice(1, -1);
  return { text: inner.replaceAll("\r\n", "\n").replaceAll("\r", "\n"), raw };
}

type Part =
  | { readonly kind: "text"; readonly text: string }
  /** A code point in a string; not allowed in bytes. */
  | { readonly kind: "unicode"; readonly value: number }
  /** A code point in a string, a byte in bytes. */
  | { readonly kind: "byte"; readonly value: number };

const CHARACTER_ESCAPES = new Map([
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
]);

/** The lexer has already proved that every escape is well formed. */
function* unescapeParts(text: string): Generator<Part> {
  let at = 0;
  while (at < text.length) {
    const backslash = text.indexOf("\\", at);
    if (backslash === -1) {
      yield { kind: "text", text: text.slice(at) };
      return;
    }
    if (backslash > at) yield { kind: "text", text: text.slice(at, backslash) };
    const letter = text.charAt(backslash + 1);
    at = backslash + 2;
    if (letter === "x" || letter === "X") {
      yield { kind: "byte", value: Number.parseInt(text.slice(at, at + 2), 16) };
      at += 2;
    } else if (letter === "u" || letter === "U") {
      const digits = letter === "u" ? 4 : 8;
      yield { kind: "unicode", value: Number.parseInt(text.slice(at, at + digits), 16) };
      at += digits;
    } else if (letter >= "0" && letter <= "3") {
      yield { kind: "byte", value: Number.parseInt(text.slice(at - 1, at + 2), 8) };
      at += 2;
    } else {
      yield { kind: "text", text: CHARACTER_ESCAPES.get(letter) ?? letter };
    }
  }
}
