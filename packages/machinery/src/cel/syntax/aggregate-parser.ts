/** List, map and message literals. */
import type { Expr, MapEntry, StructField } from "./ast.ts";
import type { ExprFactory } from "./expr-factory.ts";
import type { Token } from "./lexer.ts";
import type { TokenCursor } from "./token-cursor.ts";

/**
 * A parsed expression and how many of the node kinds that cel-go counts lie on its deepest path.
 */
export interface Parsed {
  readonly expr: Expr;
  readonly height: number;
}

/** What parsing a literal's elements needs of the parser. */
export interface AggregateHost {
  readonly cursor: TokenCursor;
  readonly make: ExprFactory;
  readonly options: { readonly optionalSyntax: boolean };
  expr(): Parsed;
  /** Reports what cannot start an expression in terms of all that could stand here. */
  requireExpression(...alternatives: string[]): void;
}

export function parseList(host: AggregateHost): Parsed {
  const { cursor, make } = host;
  const open = cursor.next();
  const elements: Expr[] = [];
  const optionalIndices: number[] = [];
  let height = 0;
  acceptLoneComma(cursor, "]");
  while (cursor.accept("]") === undefined) {
    const question = cursor.accept("?");
    checkOptionalEntry(host, question);
    if (question === undefined) host.requireExpression("]", ",", "?");
    if (question !== undefined) optionalIndices.push(elements.length);
    const element = host.expr();
    elements.push(element.expr);
    height = Math.max(height, element.height);
    if (!cursor.sees("]")) cursor.expect("]", ",");
  }
  return { expr: make.list(open.position, elements, optionalIndices), height };
}

export function parseMap(host: AggregateHost): Parsed {
  const { cursor, make } = host;
  const open = cursor.next();
  const entries: MapEntry[] = [];
  let height = 0;
  acceptLoneComma(cursor, "}");
  while (cursor.accept("}") === undefined) {
    const question = cursor.accept("?");
    checkOptionalEntry(host, question);
    if (question === undefined) host.requireExpression("}", ",", "?");
    const key = host.expr();
    const colon = cursor.expect(":");
    const value = host.expr();
    height = Math.max(height, key.height, value.height);
    entries.push({
      id: make.nextId(),
      position: colon.position,
      key: key.expr,
      value: value.expr,
      optional: question !== undefined,
    });
    if (!cursor.sees("}")) cursor.expect("}", ",");
  }
  return { expr: make.map(open.position, entries), height };
}

/** `a.b.C{field: value}`; the brace is `braceOffset` tokens ahead. */
export function parseMessage(
  host: AggregateHost,
  { leadingDot, braceOffset }: { leadingDot: boolean; braceOffset: number },
): Parsed {
  const { cursor, make } = host;
  let typeName = leadingDot ? "." : "";
  for (let i = 0; i < braceOffset; i++) typeName += cursor.next().text;
  const brace = cursor.expect("{");
  const fields: StructField[] = [];
  let height = 0;
  acceptLoneComma(cursor, "}");
  while (cursor.accept("}") === undefined) {
    const question = cursor.accept("?");
    checkOptionalEntry(host, question);
    requireFieldName(cursor, question === undefined);
    const name = cursor.next();
    const colon = cursor.expect(":");
    const value = host.expr();
    height = Math.max(height, value.height);
    fields.push({
      id: make.nextId(),
      position: colon.position,
      name: name.kind === "escaped-ident" ? name.text.slice(1, -1) : name.text,
      value: value.expr,
      optional: question !== undefined,
    });
    if (!cursor.sees("}")) cursor.expect("}", ",");
  }
  return { expr: make.struct(brace.position, typeName, fields), height };
}

function requireFieldName(cursor: TokenCursor, first: boolean): void {
  if (cursor.seesName() || cursor.peek().kind === "escaped-ident") return;
  const others = first ? ["'}'", "','", "'?'"] : [];
  cursor.dropOrFail([...others, "IDENTIFIER", "ESC_IDENTIFIER"]);
}

function checkOptionalEntry({ cursor, options }: AggregateHost, question: Token | undefined): void {
  if (question !== undefined && !options.optionalSyntax) {
    cursor.report(question.position, "unsupported syntax '?'");
  }
}

/** The grammar allows a comma before the closing bracket even when nothing precedes it. */
function acceptLoneComma(cursor: TokenCursor, closing: string): void {
  if (cursor.sees(",") && cursor.sees(closing, 1)) cursor.next();
}
