/**
 * `all` and `exists`: they stop as soon as the result is known, and absorb errors of other
 * elements.
 */
import { type CallExpr, type ComprehensionExpr, type Expr, Operator } from "../syntax/ast.ts";
import { CelError, type CelResult, NO_SUCH_OVERLOAD } from "../values/value.ts";
import { forEach, type Loop, type LoopSlots } from "./iteration.ts";
import type { Planning } from "./plan.ts";

/**
 * cel-go's charge around the predicate in each round: the loop condition, and reading the
 * accumulator.
 */
const CONDITION_COST = { all: 2, exists: 3 } as const;
const STEP_COST = 1;

export function planQuantifier(
  planning: Planning,
  e: ComprehensionExpr,
  slots: LoopSlots,
): Loop | undefined {
  const quantifier = recognize(e);
  if (quantifier === undefined) return undefined;
  const { decisive } = quantifier;
  const conditionCost = CONDITION_COST[quantifier.kind];
  const plan = planning.plan(quantifier.predicate);
  return function* (context, collection) {
    let accumulated = context.locals[slots.accuSlot] ?? !decisive;
    const begin = () => {
      context.charge(conditionCost);
      if (accumulated === decisive) return false;
      context.charge(STEP_COST);
      return true;
    };
    const take = (value: CelResult) => {
      if (value === decisive) accumulated = decisive;
      else if (!(accumulated instanceof CelError) && value !== !decisive) {
        accumulated = value instanceof CelError ? value : NO_SUCH_OVERLOAD;
      }
      return true;
    };
    yield* forEach(context, collection, { slots: slots.slots, begin, plan, take });
    context.locals[slots.accuSlot] = accumulated;
  };
}

interface Quantifier {
  readonly kind: "all" | "exists";
  /** The value of one predicate that decides the result. */
  readonly decisive: boolean;
  readonly predicate: Expr;
}

function recognize(e: ComprehensionExpr): Quantifier | undefined {
  const { step, condition, accuVar } = e;
  if (step.kind !== "call" || condition.kind !== "call") return undefined;
  if (condition.function !== Operator.notStrictlyFalse) return undefined;
  const [accumulator, predicate] = step.args;
  if (predicate === undefined || !isVariable(accumulator, accuVar)) return undefined;
  if (step.function === Operator.and && isVariable(condition.args[0], accuVar)) {
    return { kind: "all", decisive: false, predicate };
  }
  if (step.function === Operator.or && isNegation(condition.args[0], accuVar)) {
    return { kind: "exists", decisive: true, predicate };
  }
  return undefined;
}

export function isVariable(e: Expr | undefined, name: string): boolean {
  return e?.kind === "ident" && e.name === name;
}

function isNegation(e: Expr | undefined, name: string): e is CallExpr {
  return e?.kind === "call" && e.function === Operator.not && isVariable(e.args[0], name);
}
