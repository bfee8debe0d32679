/** Calls with a constant regular expression: it is compiled once, when planning. */
import { patternCost } from "../cost/sizes.ts";
import type { Expr } from "../syntax/ast.ts";
import { ArrayList } from "../values/collections.ts";
import { compilePattern, type Pattern } from "../values/pattern.ts";
import { CelError, type CelResult } from "../values/value.ts";
import type { Plan, Planning } from "./plan.ts";

const APPLY: Readonly<Record<string, (pattern: Pattern, text: string) => CelResult>> = {
  matches: (pattern, text) => pattern.test(text),
  find: (pattern, text) => pattern.find(text) ?? "",
  findAll: (pattern, text) => new ArrayList(pattern.findAll(text, -1)),
};

export function planPattern(
  planning: Planning,
  name: string,
  operands: readonly Expr[],
): Plan | undefined {
  const apply = Object.hasOwn(APPLY, name) ? APPLY[name] : undefined;
  const [textExpr, patternExpr] = operands;
  if (apply === undefined || operands.length !== 2 || textExpr === undefined) return undefined;
  if (patternExpr?.kind !== "literal" || patternExpr.literal.type !== "string") return undefined;
  const source = patternExpr.literal.value;
  const pattern = compilePattern(source);
  const text = planning.plan(textExpr).run;
  return {
    run: (context) => {
      const value = text(context);
      if (value instanceof CelError) return value;
      if (typeof value !== "string") return new CelError(`no such overload: ${name}`);
      if (pattern instanceof CelError) return pattern;
      context.charge(patternCost(true, value, source));
      return apply(pattern, value);
    },
  };
}
