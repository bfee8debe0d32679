/**
 * Prints a syntax tree in the form of cel-go's debug output, which the conformance data carries for
 * every case. Test support only.
 */
import type { Expr, LiteralValue } from "../syntax/ast.ts";
import { formatDouble } from "../values/format-double.ts";

/** What is appended to each node, e.g. its type. */
export type NodeAnnotator = (e: Expr) => string;

export function debugString(root: Expr, adorn: NodeAnnotator): string {
  const lines = (open: string, parts: readonly string[], close: string, indent: string): string => {
    if (parts.length === 0) return open + close;
    return `${open}\n${parts.map((part) => `${indent}  ${part}`).join(",\n")}\n${indent}${close}`;
  };
  const print = (e: Expr, indent: string): string => body(e, indent) + adorn(e);
  const body = (e: Expr, indent: string): string => {
    const inner = `${indent}  `;
    switch (e.kind) {
      case "literal":
        return literalText(e.literal);
      case "ident":
        return e.name;
      case "select":
        return `${print(e.operand, indent)}.${e.field}${e.testOnly ? "~test-only~" : ""}`;
      case "call": {
        const target = e.target === undefined ? "" : `${print(e.target, indent)}.`;
        const args = e.args.map((arg) => print(arg, inner));
        return lines(`${target}${e.function}(`, args, ")", indent);
      }
      case "list":
        return lines(
          "[",
          e.elements.map((element) => print(element, inner)),
          "]",
          indent,
        );
      case "map": {
        const entries = e.entries.map((entry) => {
          const mark = entry.optional ? "?" : "";
          return `${mark}${print(entry.key, inner)}:${print(entry.value, inner)}${ENTRY_MARK}`;
        });
        return lines("{", entries, "}", indent);
      }
      case "struct": {
        const fields = e.fields.map((field) => {
          const mark = field.optional ? "?" : "";
          return `${mark}${field.name}:${print(field.value, inner)}${ENTRY_MARK}`;
        });
        return lines(`${e.typeName}{`, fields, "}", indent);
      }
      case "comprehension": {
        const part = (title: string, text: string) => `${inner}// ${title}\n${inner}${text}`;
        const variables =
          e.iterVar2 === undefined ? e.iterVar : `${e.iterVar},\n${inner}${e.iterVar2}`;
        const parts = [
          part("Variable", variables),
          part("Target", print(e.iterRange, inner)),
          part("Accumulator", e.accuVar),
          part("Init", print(e.accuInit, inner)),
          part("LoopCondition", print(e.condition, inner)),
          part("LoopStep", print(e.step, inner)),
          part("Result", print(e.result, inner)),
        ];
        return `__comprehension__(\n${parts.join(",\n")})`;
      }
    }
  };
  return print(root, "");
}

/** Stands where cel-go's parser output marks map entries and struct fields. */
export const ENTRY_MARK = "\u0000";

function literalText(literal: LiteralValue): string {
  switch (literal.type) {
    case "string":
      return goQuote(new TextEncoder().encode(literal.value));
    case "bytes":
      return `b${goQuote(literal.value)}`;
    case "uint":
      return `${literal.value}u`;
    case "double":
      return formatDouble(literal.value);
    default:
      return String(literal.value);
  }
}

const QUOTED = new Map([
  [7, "\\a"],
  [8, "\\b"],
  [9, "\\t"],
  [10, "\\n"],
  [11, "\\v"],
  [12, "\\f"],
  [13, "\\r"],
  [34, '\\"'],
  [92, "\\\\"],
]);

/** Go's strconv.Quote, over bytes that may not be UTF-8. */
function goQuote(bytes: Uint8Array): string {
  let out = '"';
  for (let at = 0; at < bytes.length; ) {
    const width = utf8Width(bytes, at);
    const byte = bytes[at] ?? 0;
    if (width === 0) {
      out += `\\x${byte.toString(16).padStart(2, "0")}`;
      at++;
      continue;
    }
    const character = new TextDecoder("utf-8", { ignoreBOM: true }).decode(
      bytes.subarray(at, at + width),
    );
    out += QUOTED.get(byte) ?? quotedCharacter(character);
    at += width;
  }
  return `${out}"`;
}

function quotedCharacter(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  if (/^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u.test(character)) return character;
  if (point < 0x80) return `\\x${point.toString(16).padStart(2, "0")}`;
  return point > 0xffff
    ? `\\U${point.toString(16).padStart(8, "0")}`
    : `\\u${point.toString(16).padStart(4, "0")}`;
}

/** The length of the valid UTF-8 sequence at `at`, or 0. */
function utf8Width(bytes: Uint8Array, at: number): number {
  for (let width = 1; width <= 4 && at + width <= bytes.length; width++) {
    try {
      const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
        bytes.subarray(at, at + width),
      );
      if ([...text].length === 1) return width;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }
  return 0;
}
