/**
 * Attributes: names with their selections and indices.
 *
 * cel-go evaluates `a.b[c]` as one attribute and charges one unit for its root and one for each
 * step. A root that is not a name has its own cost, plus that of its use as a root. An attribute
 * that is a branch of `? :` or an index of another attribute is resolved as a part of it, and its
 * root is free.
 */
import { type Expr, Operator } from "../syntax/ast.ts";

/** The cost of using `operand` as the root of a selection, in addition to its own evaluation. */
export function rootCost(operand: Expr): number {
  switch (operand.kind) {
    case "ident":
      return 0;
    case "select":
      return operand.testOnly ? 1 : 0;
    case "call":
      return isAttribute(operand) || operand.function === Operator.conditional ? 0 : 1;
    default:
      return 1;
  }
}

/** The part of `e`'s cost that is free inside another attribute. */
export function attributeRefund(e: Expr): number {
  return isAttribute(e) ? 1 : 0;
}

const ACCESSES = new Set<string>([Operator.index, Operator.optIndex, Operator.optSelect]);

function isAttribute(e: Expr): boolean {
  switch (e.kind) {
    case "ident":
      return true;
    case "select":
      return !e.testOnly;
    case "call":
      return ACCESSES.has(e.function);
    default:
      return false;
  }
}
