/**
 * Validates literals once types are known, as Kubernetes does since 1.29: constant durations,
 * timestamps and patterns are valid, format strings match their arguments, and list and map
 * literals hold values of one type.
 */
import type { CallExpr, Expr, ListExpr, LiteralValue, MapExpr } from "../syntax/ast.ts";
import type { Issue } from "../syntax/source.ts";
import { visitExpr } from "../syntax/visit.ts";
import { formatType, isOptional, sameType, type Type } from "../types/type.ts";
import { compilePattern } from "../values/pattern.ts";
import { parseDuration, parseTimestamp, timestampOf } from "../values/time.ts";
import { CelError } from "../values/value.ts";
import type { CheckedExpr } from "./checked-expr.ts";
import { validateFormatCall } from "./format-validation.ts";

export function validateLiterals(checked: CheckedExpr): Issue[] {
  const issues: Issue[] = [];
  visitExpr(checked.expr, (e, path) => {
    if (e.kind === "call") issues.push(...validateCall(e), ...validateFormatCall(checked, e));
    // Arguments of `format` may have different types.
    const exempt = path.some((outer) => outer.kind === "call" && outer.function === "format");
    if (e.kind === "list" && !exempt) issues.push(...validateList(checked, e));
    if (e.kind === "map" && !exempt) issues.push(...validateMap(checked, e));
  });
  return issues;
}

const VALIDATORS: ReadonlyMap<string, (literal: LiteralValue) => boolean> = new Map([
  ["duration", ({ value }) => typeof value !== "string" || parseDuration(value) !== undefined],
  ["timestamp", isTimestamp],
  [
    "matches",
    ({ value }) => typeof value !== "string" || !(compilePattern(value) instanceof CelError),
  ],
]);

function isTimestamp({ value }: LiteralValue): boolean {
  if (typeof value === "bigint") return !(timestampOf(value * 1_000_000_000n) instanceof CelError);
  return typeof value !== "string" || parseTimestamp(value) !== undefined;
}

function validateCall(e: CallExpr): Issue[] {
  const isValid = VALIDATORS.get(e.function);
  const [argument] = e.args;
  if (isValid === undefined || argument?.kind !== "literal" || isValid(argument.literal)) return [];
  return [{ message: `invalid ${e.function} argument`, position: argument.position }];
}

function validateList(checked: CheckedExpr, e: ListExpr): Issue[] {
  const optional = new Set(e.optionalIndices);
  const typed = e.elements.map((element, i) => ({
    at: element,
    type: contentType(checked.typeOf(element), optional.has(i)),
  }));
  return firstMismatch(typed);
}

function validateMap(checked: CheckedExpr, e: MapExpr): Issue[] {
  const keys = e.entries.map(({ key }) => ({ at: key, type: checked.typeOf(key) }));
  const values = e.entries.map(({ value, optional }) => ({
    at: value,
    type: contentType(checked.typeOf(value), optional),
  }));
  return [...firstMismatch(keys), ...firstMismatch(values)];
}

function contentType(type: Type, optional: boolean): Type {
  return optional && isOptional(type) ? type.param(0) : type;
}

function firstMismatch(typed: readonly { readonly at: Expr; readonly type: Type }[]): Issue[] {
  const expected = typed[0]?.type;
  const other = typed.find(({ type }) => expected !== undefined && !sameType(expected, type));
  if (expected === undefined || other === undefined) return [];
  const message = `expected type '${formatType(expected)}' but found '${formatType(other.type)}'`;
  return [{ message, position: other.at.position }];
}
