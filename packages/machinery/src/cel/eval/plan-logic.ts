/** Operators that do not evaluate all their operands, or that absorb errors. */
import { type CallExpr, Operator } from "../syntax/ast.ts";
import { CelError, CelOptional, type CelResult, NO_SUCH_OVERLOAD } from "../values/value.ts";
import { attributeRefund } from "./attribute.ts";
import type { EvalContext } from "./eval-context.ts";
import {
  evaluate,
  isAtOnce,
  type Plan,
  type PlanAtOnce,
  type Planning,
  planUnary,
} from "./plan.ts";

export function planLogic(planning: Planning, e: CallExpr): Plan | undefined {
  switch (e.function) {
    case Operator.and:
      return planShortCircuit(planning, e, false);
    case Operator.or:
      return planShortCircuit(planning, e, true);
    case Operator.conditional:
      return planConditional(planning, e);
    case Operator.notStrictlyFalse:
      return planNotStrictlyFalse(planning, e);
    default:
      return undefined;
  }
}

/**
 * `decisive` is the value of one operand that decides the result, even if the other one is an
 * error.
 */
function planShortCircuit(planning: Planning, e: CallExpr, decisive: boolean): Plan {
  const [left, right] = plans(planning, e);
  if (left === undefined || right === undefined) return { run: () => NO_SUCH_OVERLOAD };
  const both = (first: CelResult, second: CelResult): CelResult => {
    if (second === decisive) return second;
    if (first === !decisive && second === !decisive) return first;
    if (first instanceof CelError) return first;
    return second instanceof CelError ? second : NO_SUCH_OVERLOAD;
  };
  if (isAtOnce(left) && isAtOnce(right)) {
    return {
      run: (context) => {
        const first = left.run(context);
        return first === decisive ? first : both(first, right.run(context));
      },
    };
  }
  return {
    *resumable(context) {
      const first = yield* evaluate(left, context);
      return first === decisive ? first : both(first, yield* evaluate(right, context));
    },
  };
}

function planConditional(planning: Planning, e: CallExpr): Plan {
  const [condition, whenTrue, whenFalse] = plans(planning, e);
  if (condition === undefined || whenTrue === undefined || whenFalse === undefined) {
    return { run: () => NO_SUCH_OVERLOAD };
  }
  const [, trueExpr, falseExpr] = e.args;
  const trueRefund = trueExpr === undefined ? 0 : attributeRefund(trueExpr);
  const falseRefund = falseExpr === undefined ? 0 : attributeRefund(falseExpr);
  /** The branch that is taken, or an error where there is none. */
  const branchOf = (context: EvalContext, value: CelResult): Plan | CelError => {
    if (value !== true && value !== false)
      return value instanceof CelError ? value : NO_SUCH_OVERLOAD;
    context.refund(value ? trueRefund : falseRefund);
    return value ? whenTrue : whenFalse;
  };
  if (isAtOnce(condition) && isAtOnce(whenTrue) && isAtOnce(whenFalse)) {
    return {
      run: (context) => {
        const branch = branchOf(context, condition.run(context));
        return branch instanceof CelError ? branch : (branch as PlanAtOnce).run(context);
      },
    };
  }
  return {
    *resumable(context) {
      const branch = branchOf(context, yield* evaluate(condition, context));
      return branch instanceof CelError ? branch : yield* evaluate(branch, context);
    },
  };
}

function planNotStrictlyFalse(planning: Planning, e: CallExpr): Plan {
  const [plan] = plans(planning, e);
  if (plan === undefined) return { run: () => NO_SUCH_OVERLOAD };
  return planUnary(plan, (operand) => (context) => {
    const value = operand(context);
    context.charge(1);
    return value !== false;
  });
}

/**
 * `optional.or(other)` and `optional.orValue(other)` evaluate `other` only if there is no value.
 */
export function planOptionalOr(planning: Planning, e: CallExpr): Plan {
  const target = e.target && planning.plan(e.target);
  const other = e.args[0] && planning.plan(e.args[0]);
  if (target === undefined || other === undefined) return { run: () => NO_SUCH_OVERLOAD };
  const unwrap = e.function === "orValue";
  /** Undefined when there is no value. */
  const present = (optional: CelResult): CelResult | undefined => {
    if (optional instanceof CelError) return optional;
    if (!(optional instanceof CelOptional)) return NO_SUCH_OVERLOAD;
    return unwrap || optional.value === undefined ? optional.value : optional;
  };
  if (isAtOnce(target) && isAtOnce(other)) {
    return {
      run: (context) => {
        const found = present(target.run(context));
        return found === undefined ? other.run(context) : found;
      },
    };
  }
  return {
    *resumable(context) {
      const found = present(yield* evaluate(target, context));
      return found === undefined ? yield* evaluate(other, context) : found;
    },
  };
}

function plans(planning: Planning, e: CallExpr): Plan[] {
  return e.args.map((arg) => planning.plan(arg));
}
