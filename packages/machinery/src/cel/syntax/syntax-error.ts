/**
 * Syntax errors in ANTLR's words, since that is what users of cel-go see and what clients match on.
 */
import type { Token } from "./lexer.ts";
import type { Issue } from "./source.ts";

/** Thrown inside the parser; never leaves it. */
export class SyntaxProblem extends Error {
  override readonly name = "SyntaxProblem";
  readonly issue: Issue;

  constructor(token: Token, message: string) {
    super(message);
    this.issue = { message: `Syntax error: ${message}`, position: token.position };
  }
}

/** Words with a token of their own; they are no identifiers. */
export const WORD_TOKENS: ReadonlySet<string> = new Set(["in", "true", "false", "null"]);

/** Every token in the order in which ANTLR lists what it expected. */
const TOKEN_ORDER: readonly string[] = [
  ..."== != in < <= >= > && || [ ] { } ( ) . , - ! ? : + * / % true false null"
    .split(" ")
    .map((text) => `'${text}'`),
  ..."NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER ESC_IDENTIFIER <EOF>".split(" "),
];

const STARTS_EXPRESSION = new Set([
  ..."[ { ( . - ! true false null".split(" ").map((text) => `'${text}'`),
  ..."NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER".split(" "),
]);

/** What may start an expression, and the `others` that may stand there instead. */
export function expressionStart(...others: readonly string[]): readonly string[] {
  const wanted = new Set(others.map((text) => `'${text}'`));
  return TOKEN_ORDER.filter((name) => STARTS_EXPRESSION.has(name) || wanted.has(name));
}

export function startsExpression(token: Token): boolean {
  return STARTS_EXPRESSION.has(tokenName(token));
}

/** True when leaving `token` out makes the text fit. */
export function isExtraneous(token: Token, following: Token, expected: readonly string[]): boolean {
  return token.kind !== "end" && expected.includes(tokenName(following));
}

export function extraneous(token: Token, expected: readonly string[]): SyntaxProblem {
  return new SyntaxProblem(
    token,
    `extraneous input '${shown(token)}' expecting ${listed(expected)}`,
  );
}

export function mismatched(token: Token, expected: readonly string[]): SyntaxProblem {
  const only = expected.length === 1 ? expected[0] : undefined;
  if (only !== undefined && CLOSING.has(only) && canFollowExpression(token)) {
    return new SyntaxProblem(token, `missing ${only} at '${shown(token)}'`);
  }
  return new SyntaxProblem(
    token,
    `mismatched input '${shown(token)}' expecting ${listed(expected)}`,
  );
}

export function noViableAlternative(token: Token, before: string): SyntaxProblem {
  const text = token.kind === "end" ? "" : shown(token);
  return new SyntaxProblem(token, `no viable alternative at input '${before}${text}'`);
}

const CLOSING = new Set(["')'", "']'", "'}'"]);
const FOLLOWERS = new Set([..."<>]}).,[-?:+*/%", "==", "!=", "<=", ">=", "&&", "||", "in"]);

function canFollowExpression(token: Token): boolean {
  return token.kind === "end" || FOLLOWERS.has(token.text);
}

function listed(expected: readonly string[]): string {
  return expected.length === 1 ? String(expected[0]) : `{${expected.join(", ")}}`;
}

function shown(token: Token): string {
  return token.text.replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r");
}

const NAMES: Record<Token["kind"], string> = {
  ident: "IDENTIFIER",
  "escaped-ident": "ESC_IDENTIFIER",
  int: "NUM_INT",
  uint: "NUM_UINT",
  double: "NUM_FLOAT",
  string: "STRING",
  bytes: "BYTES",
  symbol: "",
  end: "<EOF>",
};

export function tokenName(token: Token): string {
  if (token.kind === "symbol") return `'${token.text}'`;
  if (token.kind === "ident" && WORD_TOKENS.has(token.text)) return `'${token.text}'`;
  return NAMES[token.kind];
}
