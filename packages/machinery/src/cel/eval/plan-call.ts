/**
 * Calls: operators first, then functions by the remaining overloads of the checker, selected by
 * their arguments.
 */
import type { Overload, OverloadCall, RuntimeCost } from "../check/function-declaration.ts";
import { type CallExpr, type Expr, Operator } from "../syntax/ast.ts";
import { ArrayList } from "../values/collections.ts";
import { typeNameOf } from "../values/kind.ts";
import { chargeSteps, chargeText } from "../values/step-counter.ts";
import { CelError, type CelResult, type CelValue, NO_SUCH_OVERLOAD } from "../values/value.ts";
import type { EvalContext } from "./eval-context.ts";
import {
  constantErrorPlan,
  constantPlan,
  type Evaluate,
  isAtOnce,
  isError,
  type Plan,
  type Planning,
  planBinary,
  planStrict,
  planUnary,
} from "./plan.ts";
import { planComparison } from "./plan-comparison.ts";
import { planLogic, planOptionalOr } from "./plan-logic.ts";
import { planPattern } from "./plan-pattern.ts";
import { planIndex, planOptionalSelect } from "./plan-select.ts";
import { fitsType } from "./type-guard.ts";

export function planCall(planning: Planning, e: CallExpr): Plan {
  const special = planLogic(planning, e) ?? planComparison(planning, e);
  if (special !== undefined) return special;
  if (e.function === Operator.index || e.function === Operator.optIndex)
    return planIndex(planning, e);
  if (e.function === Operator.optSelect) return planOptionalSelect(planning, e);
  const reference = planning.checked.referenceOf(e);
  if (reference?.kind !== "function") {
    const error = new CelError(`no such overload: ${e.function}`);
    return { run: () => error };
  }
  const { overloads, name } = reference;
  if (
    overloads.some(({ id }) => id === "optional_or_optional" || id === "optional_orValue_value")
  ) {
    return planOptionalOr(planning, e);
  }
  const operandExprs =
    reference.namespaced || e.target === undefined ? e.args : [e.target, ...e.args];
  const plan =
    planPattern(planning, name, operandExprs) ??
    planFunction(planning, name, overloads, operandExprs);
  return CONVERSIONS.has(name) ? foldConversion(plan, planning, operandExprs) : plan;
}

function planFunction(
  planning: Planning,
  name: string,
  overloads: readonly Overload[],
  operandExprs: readonly Expr[],
): Plan {
  const operands = operandExprs.map((operand) => planning.plan(operand));
  const candidates = overloads.filter((overload) => overload.call !== undefined).map(bind);
  const only = candidates.length === 1 ? candidates[0] : undefined;
  const [first, second] = operands;
  if (only !== undefined && operands.length === 1 && first !== undefined) {
    return planUnary(first, (operand) => unary(name, only, operand));
  }
  if (only !== undefined && operands.length === 2 && first !== undefined && second !== undefined) {
    return planBinary(first, second, (left, right) => binary(name, only, left, right));
  }
  return planStrict(operands, (runs) => anyNumber(name, candidates, runs), { stopsAt: isError });
}

/** An overload ready to be called. */
interface Candidate {
  readonly overload: Overload;
  readonly call: (...args: (CelValue | EvalContext)[]) => CelResult;
  readonly cost: number;
  readonly costOf: ((result: CelResult, ...args: CelValue[]) => number) | undefined;
}

function bind(overload: Overload): Candidate {
  const { call, cost = 1 } = overload;
  return {
    overload,
    call: call as OverloadCall as Candidate["call"],
    cost: typeof cost === "number" ? cost : 0,
    costOf: typeof cost === "number" ? undefined : (cost as RuntimeCost as Candidate["costOf"]),
  };
}

function unary(
  name: string,
  { overload, call, cost, costOf }: Candidate,
  operand: Evaluate,
): Evaluate {
  const fits = fitsType(overload.params[0]);
  return (context) => {
    const a = operand(context);
    if (a instanceof CelError) return failed(context, a);
    if (!fits(a)) return noSuchOverload(name, [a]);
    countText(a);
    const result = call(a, context);
    if (result !== a) countResult(result);
    context.charge(costOf === undefined ? cost : costOf(result, a));
    return result;
  };
}

function binary(
  name: string,
  { overload, call, cost, costOf }: Candidate,
  left: Evaluate,
  right: Evaluate,
): Evaluate {
  const fitsLeft = fitsType(overload.params[0]);
  const fitsRight = fitsType(overload.params[1]);
  return (context) => {
    const a = left(context);
    const b = right(context);
    if (a instanceof CelError) return failed(context, a);
    if (b instanceof CelError) return failed(context, b);
    if (!fitsLeft(a) || !fitsRight(b)) return noSuchOverload(name, [a, b]);
    countText(a);
    countText(b);
    const result = call(a, b, context);
    countResult(result);
    context.charge(costOf === undefined ? cost : costOf(result, a, b));
    return result;
  };
}

function anyNumber(
  name: string,
  candidates: readonly Candidate[],
  operands: readonly Evaluate[],
): Evaluate {
  const guarded = candidates.map((candidate) => ({
    candidate,
    guards: candidate.overload.params.map((param) => fitsType(param)),
  }));
  return (context) => {
    const args: CelValue[] = [];
    for (const operand of operands) {
      const value = operand(context);
      if (value instanceof CelError) return value;
      args.push(value);
    }
    for (const { candidate, guards } of guarded) {
      if (guards.length !== args.length || !guards.every((fits, i) => fits(args[i] ?? null)))
        continue;
      for (const arg of args) countText(arg);
      const result = candidate.call(...args, context);
      countResult(result);
      context.charge(
        candidate.costOf === undefined ? candidate.cost : candidate.costOf(result, ...args),
      );
      return result;
    }
    return noSuchOverload(name, args);
  };
}

/** Whatever its cost, a function may read its texts. */
function countText(value: CelValue): void {
  if (typeof value === "string" || value instanceof Uint8Array) chargeText(value.length);
}

/** Its result takes memory. */
function countResult(value: CelResult): void {
  if (typeof value === "string" || value instanceof Uint8Array) chargeText(value.length);
  else if (value instanceof ArrayList) chargeSteps(value.size);
}

/** A call that fails because of an argument's error is charged as a call all the same. */
function failed(context: EvalContext, error: CelError): CelError {
  context.charge(1);
  return error;
}

function noSuchOverload(name: string, args: readonly CelValue[]): CelError {
  if (!/^[A-Za-z]/.test(name)) return NO_SUCH_OVERLOAD;
  // Whether something has a size is asked of the value before it is asked of overloads.
  if (name === "size") return new CelError(`no such overload: ${name}`);
  return new CelError(`no such overload: ${name}(${args.map(typeNameOf).join(", ")})`);
}

const CONVERSIONS = new Set([
  "dyn",
  "bool",
  "bytes",
  "double",
  "duration",
  "int",
  "string",
  "timestamp",
  "uint",
  "type",
]);

/** Conversions of constants are done once. */
function foldConversion(plan: Plan, planning: Planning, operands: readonly Expr[]): Plan {
  const [operand] = operands;
  if (operands.length !== 1 || operand === undefined) return plan;
  if (planning.plan(operand).constant === undefined || !isAtOnce(plan)) return plan;
  const value = plan.run(FOLDING as EvalContext);
  return value instanceof CelError ? constantErrorPlan(planning, value) : constantPlan(value);
}

/** Stands in for the context while planning: conversions only count their cost. */
const FOLDING: Pick<EvalContext, "charge" | "step"> = {
  charge: () => undefined,
  step: () => undefined,
};
