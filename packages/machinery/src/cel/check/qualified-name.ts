/** Selections that read like one qualified name. */
import type { Expr, SelectExpr } from "../syntax/ast.ts";

/** `a.b.c` as a name and its first part; undefined if there is anything but names in it. */
export function qualifiedPath(e: SelectExpr): { name: string; root: string } | undefined {
  const parts: string[] = [];
  for (let at: Expr = e; ; at = at.operand) {
    if (at.kind === "ident") {
      return { name: [at.name, ...parts.reverse()].join("."), root: at.name };
    }
    if (at.kind !== "select" || at.testOnly) return undefined;
    parts.push(at.field);
  }
}

export function qualifiedName(e: Expr): string | undefined {
  if (e.kind === "ident") return e.name;
  return e.kind === "select" ? qualifiedPath(e)?.name : undefined;
}
