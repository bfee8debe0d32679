/** `map`, `filter`, `transformList` and `transformMap`: the result grows in place. */
import type { Resumable } from "../../base/index.ts";
import { LIST_CREATE_COST } from "../cost/estimate.ts";
import { type CallExpr, type ComprehensionExpr, type Expr, Operator } from "../syntax/ast.ts";
import { MAP_INSERT } from "../syntax/two-variable-macros.ts";
import { ArrayList, insertInto, ValueMap } from "../values/collections.ts";
import { CelError, type CelResult, type CelValue, NO_SUCH_OVERLOAD } from "../values/value.ts";
import type { EvalContext } from "./eval-context.ts";
import { forEach, type Loop, type LoopSlots } from "./iteration.ts";
import {
  type Evaluate,
  isError,
  type Plan,
  type Planning,
  planGuarded,
  planStrict,
  SKIPPED,
} from "./plan.ts";
import { isVariable } from "./plan-quantifier.ts";

/** The cost of reading the accumulator, and of calling the function that adds to it. */
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
  const added = planning.plan(element);
  const plan = planFiltered(planning, step, added);
  const cost = ACCUMULATOR_COST + ADD_COST + (added.constant === undefined ? LIST_CREATE_COST : 0);
  return function* (context, collection) {
    const values: CelValue[] = [];
    const problem = yield* accumulate(context, collection, slots, plan, (value) => {
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
  const parts = step.parts.map((part) => planning.plan(part));
  const plan = planFiltered(planning, step, planStrict(parts, gathered, { stopsAt: isError }));
  return function* (context, collection) {
    const map = new ValueMap();
    const problem = yield* accumulate(context, collection, slots, plan, (entry) => {
      context.charge(ACCUMULATOR_COST + ADD_COST);
      return insertInto(map, (entry as ArrayList).values);
    });
    context.locals[slots.accuSlot] = problem ?? map;
  };
}

/** The key and the value of an entry, or a map of entries. */
function gathered(parts: readonly Evaluate[]): Evaluate {
  return (context) => {
    const values: CelValue[] = [];
    for (const part of parts) {
      const value = part(context);
      if (value instanceof CelError) return value;
      values.push(value);
    }
    return new ArrayList(values);
  };
}

/** The addition of a round; nothing when its predicate does not hold. */
function planFiltered(planning: Planning, { predicate }: Step, added: Plan): Plan {
  if (predicate === undefined) return added;
  return planGuarded(planning.plan(predicate), added, (passes) => {
    if (passes === false) return SKIPPED;
    return passes instanceof CelError ? passes : NO_SUCH_OVERLOAD;
  });
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

/**
 * Runs `add` for each element that passes; the first error is the result, although the loop
 * continues as in cel-go.
 */
function* accumulate(
  context: EvalContext,
  collection: Parameters<Loop>[1],
  { slots }: LoopSlots,
  plan: Plan,
  add: (value: CelValue) => CelError | undefined,
): Resumable<CelError | undefined> {
  let problem: CelError | undefined;
  const take = (value: CelResult) => {
    if (value === SKIPPED) return true;
    problem = value instanceof CelError ? value : add(value);
    return problem === undefined;
  };
  yield* forEach(context, collection, { slots, plan, take });
  return problem;
}
