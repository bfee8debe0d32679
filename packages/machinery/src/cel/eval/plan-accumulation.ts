/** `map`, `filter`, `transformList` and `transformMap`: the result grows in place. */
import { LIST_CREATE_COST } from "../cost/estimate.ts";
import { type CallExpr, type ComprehensionExpr, type Expr, Operator } from "../syntax/ast.ts";
import { MAP_INSERT } from "../syntax/two-variable-macros.ts";
import { ArrayList, insertInto, ValueMap } from "../values/collections.ts";
import { CelError, type CelResult, type CelValue, NO_SUCH_OVERLOAD } from "../values/value.ts";
import type { EvalContext } from "./eval-context.ts";
import { forEach, type Loop, type LoopSlots } from "./iteration.ts";
import type { Planning, Run } from "./plan.ts";
import { isVariable } from "./plan-quantifier.ts";

/** Reading the accumulator, and calling what adds to it. */
const ACCUMULATOR_COST = 1;
const ADD_COST = 1;

export function planAppend(
  planning: Planning,
  e: ComprehensionExpr,
  slots: LoopSlots,
): Loop | undefined {
  if (e.accuInit.kind !== "list" || e.accuInit.elements.length > 0) return undefined;
  const step = recognizeStep(e, (call) => {
    const [, list] = call.args;
    const single =
      call.function === Operator.add && list?.kind === "list" && list.elements.length === 1;
    return single && list.optionalIndices.length === 0 ? list.elements : undefined;
  });
  const element = step?.parts[0];
  if (step === undefined || element === undefined) return undefined;
  const predicate = step.predicate && planning.plan(step.predicate).run;
  const plan = planning.plan(element);
  const cost = ACCUMULATOR_COST + ADD_COST + (plan.constant === undefined ? LIST_CREATE_COST : 0);
  return (context, collection) => {
    const values: CelValue[] = [];
    const problem = accumulate(context, collection, slots, predicate, () => {
      const value = plan.run(context);
      if (value instanceof CelError) return value;
      context.charge(cost);
      values.push(value);
      return undefined;
    });
    context.locals[slots.accuSlot] = problem ?? new ArrayList(values);
  };
}

export function planInsert(
  planning: Planning,
  e: ComprehensionExpr,
  slots: LoopSlots,
): Loop | undefined {
  if (e.accuInit.kind !== "map" || e.accuInit.entries.length > 0) return undefined;
  const step = recognizeStep(e, (call) =>
    call.function === MAP_INSERT ? call.args.slice(1) : undefined,
  );
  if (step === undefined) return undefined;
  const predicate = step.predicate && planning.plan(step.predicate).run;
  const parts = step.parts.map((part) => planning.plan(part).run);
  return (context, collection) => {
    const map = new ValueMap();
    const problem = accumulate(context, collection, slots, predicate, () => {
      const values: CelValue[] = [];
      for (const part of parts) {
        const value = part(context);
        if (value instanceof CelError) return value;
        values.push(value);
      }
      context.charge(ACCUMULATOR_COST + ADD_COST);
      return insertInto(map, values);
    });
    context.locals[slots.accuSlot] = problem ?? map;
  };
}

interface Step {
  readonly predicate: Expr | undefined;
  readonly parts: readonly Expr[];
}

/** `add(accu, parts)`, or `predicate ? add(accu, parts) : accu`. */
function recognizeStep(
  e: ComprehensionExpr,
  partsOf: (call: CallExpr) => readonly Expr[] | undefined,
): Step | undefined {
  const { step, condition, accuVar } = e;
  if (condition.kind !== "literal" || condition.literal.value !== true || step.kind !== "call")
    return undefined;
  let addition: Expr | undefined = step;
  let predicate: Expr | undefined;
  if (step.function === Operator.conditional) {
    [predicate, addition] = step.args;
    if (!isVariable(step.args[2], accuVar)) return undefined;
  }
  if (addition?.kind !== "call" || !isVariable(addition.args[0], accuVar)) return undefined;
  const parts = partsOf(addition);
  return parts && { predicate, parts };
}

/** Runs `add` for each element that passes; the first error is the outcome, though the loop goes on as cel-go's. */
function accumulate(
  context: EvalContext,
  collection: Parameters<Loop>[1],
  { slots }: LoopSlots,
  predicate: Run | undefined,
  add: () => CelError | undefined,
): CelError | undefined {
  let problem: CelError | undefined;
  forEach(context, collection, slots, () => {
    const passes: CelResult = predicate === undefined ? true : predicate(context);
    if (passes === true) problem = add();
    else if (passes !== false) problem = passes instanceof CelError ? passes : NO_SUCH_OVERLOAD;
    return problem === undefined;
  });
  return problem;
}
