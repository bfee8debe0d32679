/** Equality, order and membership; they need no overload for evaluation, only for their cost. */
import { comparisonCost } from "../cost/sizes.ts";
import { type CallExpr, Operator } from "../syntax/ast.ts";
import { compareValues, equalValues, listContains } from "../values/compare.ts";
import {
  CelError,
  CelList,
  CelMap,
  CelObject,
  type CelResult,
  type CelValue,
  NO_SUCH_OVERLOAD,
} from "../values/value.ts";
import type { EvalContext } from "./eval-context.ts";
import { type Evaluate, type Plan, type Planning, planBinary, planUnary } from "./plan.ts";

export function planComparison(planning: Planning, e: CallExpr): Plan | undefined {
  const [leftExpr, rightExpr] = e.args;
  if (leftExpr === undefined || rightExpr === undefined || e.target !== undefined) return undefined;
  if (e.function === Operator.in) {
    return planMembership(planning.plan(leftExpr), planning.plan(rightExpr));
  }
  const holds = ORDERS[e.function];
  if (holds !== undefined) {
    return planBinary(planning.plan(leftExpr), planning.plan(rightExpr), (left, right) =>
      ordered(left, right, holds),
    );
  }
  if (e.function === Operator.equals || e.function === Operator.notEquals) {
    const wanted = e.function === Operator.equals;
    return planBinary(planning.plan(leftExpr), planning.plan(rightExpr), (left, right) =>
      equality(left, right, wanted),
    );
  }
  return undefined;
}

const ORDERS: Readonly<Record<string, (order: number) => boolean>> = {
  [Operator.less]: (order) => order < 0,
  [Operator.lessEquals]: (order) => order <= 0,
  [Operator.greater]: (order) => order > 0,
  [Operator.greaterEquals]: (order) => order >= 0,
};

const NAN_UNORDERED = new CelError("NaN values cannot be ordered");

function ordered(left: Evaluate, right: Evaluate, holds: (order: number) => boolean): Evaluate {
  return (context) => {
    const a = left(context);
    const b = right(context);
    if (a instanceof CelError || b instanceof CelError) return failed(context, a, b);
    // Most rules order integers.
    if (typeof a === "bigint" && typeof b === "bigint") {
      context.charge(1);
      return holds(a < b ? -1 : a > b ? 1 : 0);
    }
    const order = compareValues(a, b);
    if (order instanceof CelError) return order;
    context.charge(comparisonCost(true, a, b));
    return Number.isNaN(order) ? NAN_UNORDERED : holds(order);
  };
}

function equality(left: Evaluate, right: Evaluate, wanted: boolean): Evaluate {
  return (context) => {
    const a = left(context);
    const b = right(context);
    if (a instanceof CelError || b instanceof CelError) return failed(context, a, b);
    const equal = equalValues(a, b, context);
    if (equal instanceof CelError) return equal;
    context.charge(a instanceof CelObject ? 1 : comparisonCost(true, a, b));
    return equal === wanted;
  };
}

/** A comparison that fails because of an operand's error is charged as a call all the same. */
function failed(context: EvalContext, a: CelResult, b: CelResult): CelResult {
  context.charge(1);
  return a instanceof CelError ? a : b;
}

function planMembership(needle: Plan, collection: Plan): Plan {
  const { constant } = collection;
  const set = constant instanceof CelList ? scalarSet(constant) : undefined;
  if (set !== undefined) {
    // As in cel-go, membership in a constant list of scalars is a look-up without a cost of its
    // own.
    return planUnary(needle, (run) => (context) => {
      const value = run(context);
      return value instanceof CelError ? value : set.has(value);
    });
  }
  return planBinary(needle, collection, membership);
}

function membership(needle: Evaluate, collection: Evaluate): Evaluate {
  return (context) => {
    const value = needle(context);
    const haystack = collection(context);
    if (value instanceof CelError) return value;
    if (haystack instanceof CelError) return haystack;
    if (haystack instanceof CelList) {
      context.charge(haystack.size);
      return listContains(haystack, value, context);
    }
    context.charge(1);
    return haystack instanceof CelMap ? haystack.find(value) !== undefined : NO_SUCH_OVERLOAD;
  };
}

/** The elements as a set, if all are strings or bools: other scalars are equal across types. */
function scalarSet(list: CelList): Set<CelValue> | undefined {
  const set = new Set<CelValue>();
  for (let i = 0; i < list.size; i++) {
    const element = list.get(i);
    if (typeof element !== "string" && typeof element !== "boolean") return undefined;
    set.add(element);
  }
  return set;
}
