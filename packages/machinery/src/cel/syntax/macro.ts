/**
 * What a macro is: a rewriting of a call at parse time.
 *
 * A macro is found by the call's name, its number of arguments and whether it has a target. It
 * returns the replacing expression, a problem when the arguments do not fit, or nothing when the
 * call is none of its business.
 */
import type { Expr } from "./ast.ts";
import type { ExprFactory } from "./expr-factory.ts";
import type { Issue } from "./source.ts";

export interface Macro {
  readonly function: string;
  /** Number of arguments without the target; any number when undefined. */
  readonly argCount: number | undefined;
  readonly receiver: boolean;
  readonly expand: MacroExpander;
}

export type MacroExpander = (call: MacroInput) => Expr | MacroProblem | undefined;

export interface MacroInput {
  readonly make: ExprFactory;
  /** Where the generated nodes are said to be: the position of the call. */
  readonly position: number;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface MacroProblem {
  readonly kind: "problem";
  readonly issue: Issue;
}

export function macroProblem(at: Expr, message: string): MacroProblem {
  return { kind: "problem", issue: { message, position: at.position } };
}

export function macroKey(name: string, argCount: number | undefined, receiver: boolean): string {
  return `${name}:${argCount ?? "*"}:${receiver ? "member" : "global"}`;
}

export type MacroTable = ReadonlyMap<string, Macro>;

export function macroTable(macros: readonly Macro[]): MacroTable {
  return new Map(
    macros.map((macro) => [macroKey(macro.function, macro.argCount, macro.receiver), macro]),
  );
}

/** True when the call's target is the plain name `namespace`, as in `cel.bind(...)`. */
export function targetIsNamespace(target: Expr | undefined, namespace: string): boolean {
  return target?.kind === "ident" && target.name === namespace;
}

/**
 * The name of a variable that a macro introduces, or a problem in `words` when it is not a plain
 * name.
 */
export function variableName(e: Expr, words: string): string | MacroProblem {
  return e.kind === "ident" ? e.name : macroProblem(e, words);
}
