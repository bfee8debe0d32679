/**
 * A syntax tree as text again, macros as they were written; parsing the text gives the same tree.
 */
import { type CallExpr, type Expr, type LiteralValue, type MacroCall, Operator } from "./ast.ts";

export function unparse(e: Expr): string {
  return print(e, LOWEST);
}

/** How tightly operators bind, from the loosest on. */
const LOWEST = 0;
const BINARY = new Map<string, { text: string; precedence: number }>([
  [Operator.or, { text: "||", precedence: 2 }],
  [Operator.and, { text: "&&", precedence: 3 }],
  [Operator.equals, { text: "==", precedence: 4 }],
  [Operator.notEquals, { text: "!=", precedence: 4 }],
  [Operator.less, { text: "<", precedence: 4 }],
  [Operator.lessEquals, { text: "<=", precedence: 4 }],
  [Operator.greater, { text: ">", precedence: 4 }],
  [Operator.greaterEquals, { text: ">=", precedence: 4 }],
  [Operator.in, { text: "in", precedence: 4 }],
  [Operator.add, { text: "+", precedence: 5 }],
  [Operator.subtract, { text: "-", precedence: 5 }],
  [Operator.multiply, { text: "*", precedence: 6 }],
  [Operator.divide, { text: "/", precedence: 6 }],
  [Operator.modulo, { text: "%", precedence: 6 }],
]);
const CONDITIONAL = 1;
const UNARY = 7;
const MEMBER = 8;

/** Brackets are put around what binds less tightly than `required`. */
function print(e: Expr, required: number): string {
  switch (e.kind) {
    case "literal":
      return printLiteral(e.literal, required);
    case "ident":
      return e.name;
    case "select":
      if (e.testOnly) return `has(${print(e.operand, MEMBER)}.${printField(e.field)})`;
      return `${print(e.operand, MEMBER)}.${printField(e.field)}`;
    case "call":
      return e.macro === undefined ? printCall(e, required) : printMacro(e.macro);
    case "list": {
      const optional = new Set(e.optionalIndices);
      return `[${e.elements.map((element, i) => `${optional.has(i) ? "?" : ""}${unparse(element)}`).join(", ")}]`;
    }
    case "map":
      return `{${e.entries.map((entry) => `${entry.optional ? "?" : ""}${unparse(entry.key)}: ${unparse(entry.value)}`).join(", ")}}`;
    case "struct": {
      const fields = e.fields.map(
        (field) => `${field.optional ? "?" : ""}${printField(field.name)}: ${unparse(field.value)}`,
      );
      return `${e.typeName}{${fields.join(", ")}}`;
    }
    case "comprehension":
      if (e.macro === undefined)
        throw new TypeError("a comprehension without its macro has no text");
      return printMacro(e.macro);
  }
}

function printMacro({ function: name, target, args }: MacroCall): string {
  const list = args.map(unparse).join(", ");
  return target === undefined ? `${name}(${list})` : `${print(target, MEMBER)}.${name}(${list})`;
}

function printCall(e: CallExpr, required: number): string {
  const [first, second, third] = e.args;
  if (e.target !== undefined || first === undefined) return printMacro(e);
  const binary = BINARY.get(e.function);
  if (binary !== undefined && second !== undefined) {
    const { text, precedence } = binary;
    // Chains of && and || are balanced anew when parsed, so nesting on either side needs its
    // brackets kept.
    const left =
      e.function === Operator.or || e.function === Operator.and ? precedence + 1 : precedence;
    return bracket(
      `${print(first, left)} ${text} ${print(second, precedence + 1)}`,
      precedence,
      required,
    );
  }
  switch (e.function) {
    case Operator.conditional: {
      if (second === undefined || third === undefined) return printMacro(e);
      const text = `${print(first, CONDITIONAL + 1)} ? ${print(second, CONDITIONAL + 1)} : ${print(third, CONDITIONAL)}`;
      return bracket(text, CONDITIONAL, required);
    }
    case Operator.not:
      return bracket(`!${print(first, MEMBER)}`, UNARY, required);
    case Operator.negate: {
      const operand = print(first, MEMBER);
      // A sign before a digit would become a part of the number.
      return bracket(/^[\d.]/.test(operand) ? `-(${operand})` : `-${operand}`, UNARY, required);
    }
    case Operator.index:
      return second === undefined ? printMacro(e) : `${print(first, MEMBER)}[${unparse(second)}]`;
    case Operator.optIndex:
      return second === undefined ? printMacro(e) : `${print(first, MEMBER)}[?${unparse(second)}]`;
    case Operator.optSelect:
      if (second?.kind !== "literal") return printMacro(e);
      return `${print(first, MEMBER)}.?${printField(String(second.literal.value))}`;
    default:
      return printMacro(e);
  }
}

function bracket(text: string, precedence: number, required: number): string {
  return precedence < required ? `(${text})` : text;
}

function printField(name: string): string {
  const plain = /^[A-Za-z_]\w*$/.test(name) && !["in", "true", "false", "null"].includes(name);
  return plain ? name : `\`${name}\``;
}

function printLiteral(literal: LiteralValue, required: number): string {
  switch (literal.type) {
    case "string":
      return quoted(literal.value);
    case "bytes":
      return `b"${Array.from(literal.value, (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}"`;
    case "uint":
      return `${literal.value}u`;
    case "double": {
      const text = Object.is(literal.value, -0) ? "-0" : String(literal.value);
      return signed(/[.e]/.test(text) ? text : `${text}.0`, required);
    }
    case "int":
      return signed(String(literal.value), required);
    default:
      return String(literal.value);
  }
}

/** `-1.field` would be read as the negation of `1.field`. */
function signed(text: string, required: number): string {
  return text.startsWith("-") && required >= MEMBER ? `(${text})` : text;
}

function quoted(text: string): string {
  const escaped = text.replaceAll(/[\\"]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `"${escaped}"`;
}
