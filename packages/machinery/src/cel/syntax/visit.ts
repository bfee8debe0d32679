/** Walks over a syntax tree, parents first. */
import type { Expr } from "./ast.ts";

/**
 * `path` holds the nodes above, outermost first; it is reused, so it is only valid during the call.
 */
export function visitExpr(root: Expr, visitor: (e: Expr, path: readonly Expr[]) => void): void {
  const path: Expr[] = [];
  const visit = (e: Expr): void => {
    visitor(e, path);
    path.push(e);
    for (const child of childrenOf(e)) visit(child);
    path.pop();
  };
  visit(root);
}

function childrenOf(e: Expr): readonly Expr[] {
  switch (e.kind) {
    case "literal":
    case "ident":
      return [];
    case "select":
      return [e.operand];
    case "call":
      return e.target === undefined ? e.args : [e.target, ...e.args];
    case "list":
      return e.elements;
    case "map":
      return e.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return e.fields.map(({ value }) => value);
    case "comprehension":
      return [e.iterRange, e.accuInit, e.condition, e.step, e.result];
  }
}
