/** Calls with a constant regular expression: it is compiled once, when planning. */
import { patternCost } from "../cost/sizes.ts";
import type { Expr } from "../syntax/ast.ts";
import { ArrayList } from "../values/collections.ts";
import { compilePattern, type Pattern } from "../values/pattern.ts";
import { CelError, type CelResult } from "../values/value.ts";
import { constantErrorPlan, type Plan, type Planning, planUnary } from "./plan.ts";

interface Application {
  steps(pattern: Pattern, text: string): number;
  apply(pattern: Pattern, text: string): CelResult;
}

const findSteps = (pattern: Pattern, text: string) => pattern.findSteps(text);
const APPLICATIONS: ReadonlyMap<string, Application> = new Map<string, Application>([
  [
    "matches",
    {
      steps: (pattern, text) => pattern.testSteps(text),
      apply: (pattern, text) => pattern.test(text),
    },
  ],
  ["find", { steps: findSteps, apply: (pattern, text) => pattern.find(text) ?? "" }],
  [
    "findAll",
    { steps: findSteps, apply: (pattern, text) => new ArrayList(pattern.findAll(text, -1)) },
  ],
]);

export function planPattern(
  planning: Planning,
  name: string,
  operands: readonly Expr[],
): Plan | undefined {
  const application = APPLICATIONS.get(name);
  const [textExpr, patternExpr] = operands;
  if (application === undefined || textExpr === undefined) return undefined;
  if (patternExpr?.kind !== "literal" || patternExpr.literal.type !== "string") return undefined;
  const source = patternExpr.literal.value;
  const pattern = compilePattern(source);
  if (pattern instanceof CelError) return constantErrorPlan(planning, pattern);
  // The form with a limit finds the compiled pattern in the cache.
  if (operands.length !== 2) return undefined;
  return planUnary(planning.plan(textExpr), (text) => (context) => {
    const value = text(context);
    if (value instanceof CelError) return value;
    if (typeof value !== "string") return new CelError(`no such overload: ${name}`);
    context.charge(patternCost(true, value, source));
    context.step(application.steps(pattern, value));
    return application.apply(pattern, value);
  });
}
