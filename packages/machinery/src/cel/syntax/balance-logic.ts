/**
 * Balances chains of `&&` and `||`, so that a chain of n terms nests log n deep; the same tree as
 * cel-go's.
 */
import type { Expr } from "./ast.ts";
import type { ExprFactory } from "./expr-factory.ts";

export function balanceLogic(
  make: ExprFactory,
  operator: string,
  terms: readonly Expr[],
  positions: readonly number[],
): Expr {
  const balance = (low: number, high: number): Expr => {
    const middle = Math.floor((low + high + 1) / 2);
    const left = middle === low ? term(middle) : balance(low, middle - 1);
    const right = middle === high ? term(middle + 1) : balance(middle + 1, high);
    return make.call(positions[middle] ?? 0, operator, [left, right]);
  };
  const term = (index: number): Expr => {
    const found = terms[index];
    if (found === undefined) throw new RangeError(`no term ${index}`);
    return found;
  };
  return balance(0, positions.length - 1);
}
