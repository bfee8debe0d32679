/**
 * Prints a checked expression in the form of cel-go's debug output for checked expressions. Test
 * support only.
 */
import type { CheckedExpr } from "../check/checked-expr.ts";
import type { Expr } from "../syntax/ast.ts";
import { formatType } from "../types/type.ts";
import { debugString, ENTRY_MARK } from "./debug-string.ts";

export function checkedString(checked: CheckedExpr): string {
  const text = debugString(rewrite(checked, checked.expr), (e) => {
    const reference = checked.referenceOf(e);
    const type = `~${formatType(checked.typeOf(e))}`;
    if (reference === undefined) return type;
    if (reference.kind !== "function") return `${type}^${reference.name}`;
    const ids = reference.overloads.map(({ id }) => id).sort();
    return `${type}^${ids.join("|")}`;
  });
  return text.replaceAll(ENTRY_MARK, "");
}

/**
 * cel-go's checker rewrites qualified names and namespaced calls; this checker keeps the references
 * beside the tree.
 */
function rewrite(checked: CheckedExpr, e: Expr): Expr {
  const again = (child: Expr) => rewrite(checked, child);
  const reference = checked.referenceOf(e);
  switch (e.kind) {
    case "literal":
      return e;
    case "ident":
      return reference?.kind === "variable" || reference?.kind === "type"
        ? { ...e, name: reference.name }
        : e;
    case "select":
      if (reference?.kind === "variable" || reference?.kind === "type") {
        return { kind: "ident", id: e.id, position: e.position, name: reference.name };
      }
      return { ...e, operand: again(e.operand) };
    case "call":
      if (reference?.kind === "function" && reference.namespaced) {
        return { ...e, function: reference.name, target: undefined, args: e.args.map(again) };
      }
      return { ...e, target: e.target && again(e.target), args: e.args.map(again) };
    case "list":
      return { ...e, elements: e.elements.map(again) };
    case "map":
      return {
        ...e,
        entries: e.entries.map((entry) => ({
          ...entry,
          key: again(entry.key),
          value: again(entry.value),
        })),
      };
    case "struct":
      return { ...e, fields: e.fields.map((field) => ({ ...field, value: again(field.value) })) };
    case "comprehension":
      return {
        ...e,
        iterRange: again(e.iterRange),
        accuInit: again(e.accuInit),
        condition: again(e.condition),
        step: again(e.step),
        result: again(e.result),
      };
  }
}
