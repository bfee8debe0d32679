/** Checks constant format strings against the types of their literal arguments. */
import { type FormatClause, formatClauses } from "../library/format-clause.ts";
import type { CallExpr, Expr } from "../syntax/ast.ts";
import type { Issue } from "../syntax/source.ts";
import type { TypeKind } from "../types/type.ts";
import { CelError } from "../values/value.ts";
import type { CheckedExpr } from "./checked-expr.ts";

const INTEGERS: readonly TypeKind[] = ["int", "uint"];
/** Texts may be the words NaN and Infinity. */
const NUMBERS: readonly TypeKind[] = ["double", "string"];
const TEXTS: readonly TypeKind[] = [
  ...INTEGERS,
  ...NUMBERS,
  "list",
  "map",
  "bool",
  "timestamp",
  "bytes",
  "duration",
  "type",
  "null",
];

const ACCEPTED: Readonly<Record<string, { kinds: readonly TypeKind[]; words: string }>> = {
  s: {
    kinds: TEXTS,
    words:
      "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  },
  d: { kinds: INTEGERS, words: "decimal clause can only be used on integers" },
  f: { kinds: NUMBERS, words: "fixed-point clause can only be used on doubles" },
  e: { kinds: NUMBERS, words: "scientific clause can only be used on doubles" },
  b: { kinds: [...INTEGERS, "bool"], words: "only integers and bools can be formatted as binary" },
  x: {
    kinds: [...INTEGERS, "string", "bytes"],
    words: "only integers, byte buffers, and strings can be formatted as hex",
  },
  o: { kinds: INTEGERS, words: "octal clause can only be used on integers" },
};

export function validateFormatCall(checked: CheckedExpr, e: CallExpr): Issue[] {
  const [args] = e.args;
  if (e.function !== "format" || args?.kind !== "list" || e.args.length !== 1) return [];
  if (e.target?.kind !== "literal" || e.target.literal.type !== "string") return [];
  const clauses = formatClauses(e.target.literal.value);
  for (const [i, clause] of clauses.entries()) {
    const problem =
      args.elements[i] === undefined ? `index ${i} out of range` : clauseProblem(clause);
    if (problem !== undefined) return [{ message: problem, position: e.position }];
    const issue = argumentIssue(checked, clause, args.elements[i]);
    if (issue !== undefined) return [issue];
  }
  if (args.elements.length > clauses.length) {
    const counts = `(expected ${clauses.length}, got ${args.elements.length})`;
    return [
      { message: `too many arguments supplied to string.format ${counts}`, position: e.position },
    ];
  }
  return [];
}

function clauseProblem(clause: FormatClause | CelError): string | undefined {
  return clause instanceof CelError ? clause.message : undefined;
}

function argumentIssue(
  checked: CheckedExpr,
  clause: FormatClause | CelError,
  argument: Expr | undefined,
): Issue | undefined {
  if (clause instanceof CelError || argument === undefined) return undefined;
  const accepted = ACCEPTED[clause.letter.toLowerCase()];
  const type = checked.typeOf(argument);
  if (accepted === undefined || type.kind === "dyn" || accepted.kinds.includes(type.kind))
    return undefined;
  const message = `error during formatting: ${accepted.words}, was given ${type.name}`;
  return { message, position: argument.position };
}
