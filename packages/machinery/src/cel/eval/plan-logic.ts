/** Operators that do not evaluate all their operands, or that absorb errors. */
import { type CallExpr, Operator } from "../syntax/ast.ts";
import { CelError, CelOptional, type CelResult, NO_SUCH_OVERLOAD } from "../values/value.ts";
import { partRefund } from "./attribute.ts";
import type { Plan, Planning, Run } from "./plan.ts";

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

/** `decisive` is the value of one operand that decides the whole, even if the other one is an error. */
function planShortCircuit(planning: Planning, e: CallExpr, decisive: boolean): Plan {
  const [left, right] = runs(planning, e);
  if (left === undefined || right === undefined) return { run: () => NO_SUCH_OVERLOAD };
  return {
    run: (context) => {
      const first = left(context);
      if (first === decisive) return first;
      const second = right(context);
      if (second === decisive) return second;
      if (first === !decisive && second === !decisive) return first;
      if (first instanceof CelError) return first;
      return second instanceof CelError ? second : NO_SUCH_OVERLOAD;
    },
  };
}

function planConditional(planning: Planning, e: CallExpr): Plan {
  const [condition, whenTrue, whenFalse] = runs(planning, e);
  if (condition === undefined || whenTrue === undefined || whenFalse === undefined) {
    return { run: () => NO_SUCH_OVERLOAD };
  }
  const [, trueExpr, falseExpr] = e.args;
  const trueRefund = trueExpr === undefined ? 0 : partRefund(trueExpr);
  const falseRefund = falseExpr === undefined ? 0 : partRefund(falseExpr);
  return {
    run: (context) => {
      const value = condition(context);
      if (value === true) {
        context.refund(trueRefund);
        return whenTrue(context);
      }
      if (value === false) {
        context.refund(falseRefund);
        return whenFalse(context);
      }
      return value instanceof CelError ? value : NO_SUCH_OVERLOAD;
    },
  };
}

function planNotStrictlyFalse(planning: Planning, e: CallExpr): Plan {
  const [operand] = runs(planning, e);
  if (operand === undefined) return { run: () => NO_SUCH_OVERLOAD };
  return {
    run: (context) => {
      const value = operand(context);
      context.charge(1);
      return value !== false;
    },
  };
}

/** `optional.or(other)` and `optional.orValue(other)` evaluate `other` only if there is no value. */
export function planOptionalOr(planning: Planning, e: CallExpr): Plan {
  const target = e.target && planning.plan(e.target).run;
  const other = e.args[0] && planning.plan(e.args[0]).run;
  if (target === undefined || other === undefined) return { run: () => NO_SUCH_OVERLOAD };
  const unwrap = e.function === "orValue";
  return {
    run: (context): CelResult => {
      const optional = target(context);
      if (optional instanceof CelError) return optional;
      if (!(optional instanceof CelOptional)) return NO_SUCH_OVERLOAD;
      if (optional.value === undefined) return other(context);
      return unwrap ? optional.value : optional;
    },
  };
}

function runs(planning: Planning, e: CallExpr): Run[] {
  return e.args.map((arg) => planning.plan(arg).run);
}
