/**
 * Parses an expression: recursive descent over CEL's grammar, macros expanded on the way.
 *
 * A syntax error that dropping one token does not mend ends the parse; its words follow ANTLR's,
 * because clients match on them. Depth and size are bounded as in cel-go.
 */
import { EXPRESSION_CODE_POINTS_MAX, EXPRESSION_DEPTH_MAX } from "../limits.ts";
import {
  type AggregateHost,
  type Parsed,
  parseList,
  parseMap,
  parseMessage,
} from "./aggregate-parser.ts";
import { type Expr, Operator } from "./ast.ts";
import { balanceLogic } from "./balance-logic.ts";
import { ExpressionLimitError, ExprFactory } from "./expr-factory.ts";
import { lex, type Token } from "./lexer.ts";
import { literalOf } from "./literals.ts";
import { type MacroTable, macroKey } from "./macro.ts";
import { codePointCount, type Issue } from "./source.ts";
import {
  expressionStart,
  noViableAlternative,
  SyntaxProblem,
  startsExpression,
  WORD_TOKENS,
} from "./syntax-error.ts";
import { TokenCursor } from "./token-cursor.ts";

export interface ParseOptions {
  readonly macros: MacroTable;
  /** Whether `a.?b`, `a[?b]` and `{?k: v}` are part of the language. */
  readonly optionalSyntax: boolean;
}

export type ParseResult =
  | { readonly ok: true; readonly expr: Expr; readonly nodeCount: number }
  | { readonly ok: false; readonly issues: readonly Issue[] };

export function parse(text: string, options: ParseOptions): ParseResult {
  const size = codePointCount(text);
  if (size > EXPRESSION_CODE_POINTS_MAX) {
    const message = `expression code point size exceeds limit: size: ${size}, limit ${EXPRESSION_CODE_POINTS_MAX}`;
    return { ok: false, issues: [{ message, position: undefined }] };
  }
  const lexed = lex(text);
  const cursor = new TokenCursor(lexed.tokens);
  const parser = new Parser(cursor, options);
  let expr: Expr | undefined;
  try {
    expr = parser.parseAll();
  } catch (error) {
    if (error instanceof SyntaxProblem) cursor.issues.push(error.issue);
    else if (error instanceof ExpressionLimitError) {
      cursor.issues.push({ message: error.message, position: undefined });
    } else throw error;
  }
  const issues = [...lexed.issues, ...cursor.issues];
  if (issues.length > 0 || expr === undefined) return { ok: false, issues };
  return { ok: true, expr, nodeCount: parser.nodeCount };
}

/** Words that are valid field names but no variables. */
const RESERVED = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

const RELATIONS = new Map<string, string>([
  ["<", Operator.less],
  ["<=", Operator.lessEquals],
  [">=", Operator.greaterEquals],
  [">", Operator.greater],
  ["==", Operator.equals],
  ["!=", Operator.notEquals],
  ["in", Operator.in],
]);
const SUMS = new Map<string, string>([
  ["+", Operator.add],
  ["-", Operator.subtract],
]);
const PRODUCTS = new Map<string, string>([
  ["*", Operator.multiply],
  ["/", Operator.divide],
  ["%", Operator.modulo],
]);

class Parser implements AggregateHost {
  readonly cursor: TokenCursor;
  readonly options: ParseOptions;
  readonly make = new ExprFactory();
  #depth = 0;

  constructor(cursor: TokenCursor, options: ParseOptions) {
    this.cursor = cursor;
    this.options = options;
  }

  get nodeCount(): number {
    return this.make.nodeCount;
  }

  parseAll(): Expr {
    const parsed = this.expr();
    if (this.cursor.peek().kind !== "end") this.cursor.dropOrFail(["<EOF>"]);
    return parsed.expr;
  }

  /** Adds one node above `heights`; rejects the depth that cel-go's parser rejects. */
  #raise(...heights: number[]): number {
    const height = 1 + Math.max(...heights);
    if (height > EXPRESSION_DEPTH_MAX)
      throw new ExpressionLimitError("max recursion depth exceeded");
    return height;
  }

  expr(): Parsed {
    if (++this.#depth > EXPRESSION_DEPTH_MAX) {
      throw new ExpressionLimitError(
        `expression recursion limit exceeded: ${EXPRESSION_DEPTH_MAX}`,
      );
    }
    const condition = this.#logic("||", Operator.or, () =>
      this.#logic("&&", Operator.and, () => this.#relation()),
    );
    const question = this.cursor.accept("?");
    let result = condition;
    if (question !== undefined) {
      const whenTrue = this.#logic("||", Operator.or, () =>
        this.#logic("&&", Operator.and, () => this.#relation()),
      );
      this.cursor.expect(":");
      const whenFalse = this.expr();
      const args = [condition.expr, whenTrue.expr, whenFalse.expr];
      result = {
        expr: this.make.call(question.position, Operator.conditional, args),
        height: this.#raise(condition.height, whenTrue.height, whenFalse.height),
      };
    }
    this.#depth--;
    return result;
  }

  #logic(symbol: string, operator: string, operand: () => Parsed): Parsed {
    const first = operand();
    if (!this.cursor.sees(symbol)) return first;
    const terms = [first.expr];
    const positions: number[] = [];
    let height = first.height;
    for (let op = this.cursor.accept(symbol); op !== undefined; op = this.cursor.accept(symbol)) {
      const term = operand();
      terms.push(term.expr);
      positions.push(op.position);
      height = Math.max(height, term.height);
    }
    return { expr: balanceLogic(this.make, operator, terms, positions), height };
  }

  #relation(): Parsed {
    return this.#leftAssociative(RELATIONS, () =>
      this.#leftAssociative(SUMS, () => this.#leftAssociative(PRODUCTS, () => this.#unary())),
    );
  }

  #leftAssociative(operators: ReadonlyMap<string, string>, operand: () => Parsed): Parsed {
    let left = operand();
    for (;;) {
      const token = this.cursor.peek();
      const operator =
        token.kind === "symbol" || (token.kind === "ident" && WORD_TOKENS.has(token.text))
          ? operators.get(token.text)
          : undefined;
      if (operator === undefined) return left;
      this.cursor.next();
      const right = operand();
      left = {
        expr: this.make.call(token.position, operator, [left.expr, right.expr]),
        height: this.#raise(left.height, right.height),
      };
    }
  }

  #unary(): Parsed {
    if (this.cursor.sees("!")) return this.#repeatedUnary("!", Operator.not);
    if (!this.cursor.sees("-") || this.#seesNumber(1)) return this.#member();
    return this.#repeatedUnary("-", Operator.negate);
  }

  #seesNumber(offset: number): boolean {
    const { kind } = this.cursor.peek(offset);
    return kind === "int" || kind === "double";
  }

  /** An even number of the same unary operators cancels itself out. */
  #repeatedUnary(symbol: string, operator: string): Parsed {
    const { position } = this.cursor.peek();
    let count = 0;
    while (this.cursor.accept(symbol) !== undefined) count++;
    const operand = this.#member();
    if (count % 2 === 0) return operand;
    return { expr: this.make.call(position, operator, [operand.expr]), height: operand.height };
  }

  #member(): Parsed {
    let member = this.#primary();
    for (;;) {
      if (this.cursor.sees(".")) member = this.#selectOrCall(member);
      else if (this.cursor.sees("[")) member = this.#index(member);
      else return member;
    }
  }

  #selectOrCall(operand: Parsed): Parsed {
    const dot = this.cursor.next();
    const optional = this.cursor.accept("?") !== undefined;
    const name = this.cursor.peek();
    if (name.kind === "escaped-ident") {
      this.cursor.next();
      return this.#selection(operand, dot, name, name.text.slice(1, -1), optional);
    }
    this.#requireName(optional ? "?" : ".");
    this.cursor.next();
    const open = optional ? undefined : this.cursor.accept("(");
    if (open === undefined) return this.#selection(operand, dot, name, name.text, optional);
    const args = this.#arguments(")");
    return {
      expr: this.#callOrMacro(open.position, name.text, operand.expr, args.exprs),
      height: this.#raise(operand.height, args.height),
    };
  }

  #requireName(before: string): void {
    if (this.cursor.seesName()) return;
    const token = this.cursor.peek();
    if (token.kind === "ident") this.cursor.dropOrFail(["IDENTIFIER"]);
    else throw noViableAlternative(token, before);
  }

  #selection(operand: Parsed, dot: Token, name: Token, field: string, optional: boolean): Parsed {
    const height = this.#raise(operand.height);
    if (!optional) return { expr: this.make.select(dot.position, operand.expr, field), height };
    if (!this.options.optionalSyntax) this.cursor.report(dot.position, "unsupported syntax '.?'");
    const fieldLiteral = this.make.literal(name.position, { type: "string", value: field });
    const expr = this.make.call(dot.position, Operator.optSelect, [operand.expr, fieldLiteral]);
    return { expr, height };
  }

  #index(operand: Parsed): Parsed {
    const open = this.cursor.next();
    const optional = this.cursor.accept("?") !== undefined;
    if (optional && !this.options.optionalSyntax)
      this.cursor.report(open.position, "unsupported syntax '[?'");
    const index = this.expr();
    this.cursor.expect("]");
    const operator = optional ? Operator.optIndex : Operator.index;
    return {
      expr: this.make.call(open.position, operator, [operand.expr, index.expr]),
      height: this.#raise(operand.height, index.height),
    };
  }

  #arguments(closing: string): { exprs: Expr[]; height: number } {
    const exprs: Expr[] = [];
    let height = 0;
    if (this.cursor.accept(closing) !== undefined) return { exprs, height };
    this.requireExpression(closing);
    for (;;) {
      const argument = this.expr();
      exprs.push(argument.expr);
      height = Math.max(height, argument.height);
      if (this.cursor.expect(closing, ",").text === closing) return { exprs, height };
    }
  }

  #primary(): Parsed {
    if (this.cursor.sees("(")) {
      this.cursor.next();
      const nested = this.expr();
      this.cursor.expect(")");
      return nested;
    }
    if (this.cursor.sees("[")) return parseList(this);
    if (this.cursor.sees("{")) return parseMap(this);
    if (this.cursor.sees(".") || this.cursor.seesName()) return this.#named();
    const literal = this.#literal();
    if (literal !== undefined) return { expr: literal, height: 0 };
    this.cursor.dropOrFail(expressionStart());
    return this.#primary();
  }

  /** Reports what cannot start an expression in terms of all that could stand here. */
  requireExpression(...alternatives: string[]): void {
    if (!startsExpression(this.cursor.peek()))
      this.cursor.dropOrFail(expressionStart(...alternatives));
  }

  #literal(): Expr | undefined {
    const first = this.cursor.peek();
    const negative = this.cursor.sees("-") && this.#seesNumber(1);
    if (negative) this.cursor.next();
    const token = this.cursor.peek();
    const value = literalOf(token, negative);
    if (value === undefined) return undefined;
    this.cursor.next();
    if ("problem" in value) {
      this.cursor.report(first.position, value.problem);
      return this.make.literal(first.position, { type: "null", value: null });
    }
    return this.make.literal(first.position, value);
  }

  /** An identifier, a global call, or a message literal; any of them may start with a dot. */
  #named(): Parsed {
    const leadingDot = this.cursor.accept(".");
    const name = this.cursor.peek();
    this.#requireName(".");
    const braceOffset = this.#messageBraceOffset();
    if (braceOffset !== undefined)
      return parseMessage(this, { leadingDot: leadingDot !== undefined, braceOffset });
    this.cursor.next();
    const text = leadingDot === undefined ? name.text : `.${name.text}`;
    if (RESERVED.has(name.text)) {
      this.cursor.report((leadingDot ?? name).position, `reserved identifier: ${name.text}`);
    }
    const open = this.cursor.accept("(");
    if (open === undefined) return { expr: this.make.ident(name.position, text), height: 0 };
    const args = this.#arguments(")");
    return {
      expr: this.#callOrMacro(open.position, text, undefined, args.exprs),
      height: args.height,
    };
  }

  /** How many tokens ahead the `{` of `a.b.C{` is, if that is what comes. */
  #messageBraceOffset(): number | undefined {
    let offset = 0;
    for (;;) {
      if (!this.cursor.seesName(offset)) return undefined;
      if (this.cursor.sees("{", offset + 1)) return offset + 1;
      if (!this.cursor.sees(".", offset + 1)) return undefined;
      offset += 2;
    }
  }

  #callOrMacro(
    position: number,
    name: string,
    target: Expr | undefined,
    args: readonly Expr[],
  ): Expr {
    const receiver = target !== undefined;
    const macros = this.options.macros;
    const macro =
      macros.get(macroKey(name, args.length, receiver)) ??
      macros.get(macroKey(name, undefined, receiver));
    const expanded = macro?.expand({ make: this.make, position, target, args });
    if (expanded === undefined) {
      return target === undefined
        ? this.make.call(position, name, args)
        : this.make.memberCall(position, name, target, args);
    }
    if (expanded.kind === "problem") {
      this.cursor.report(expanded.issue.position ?? position, expanded.issue.message);
      return this.make.literal(position, { type: "null", value: null });
    }
    if (expanded.kind === "comprehension" || expanded.kind === "call") {
      return { ...expanded, macro: { function: name, target, args } };
    }
    return expanded;
  }
}
