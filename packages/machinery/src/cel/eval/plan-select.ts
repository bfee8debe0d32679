/** Field selection, presence tests, indexing, and their optional forms. */
import { type CallExpr, type Expr, Operator, type SelectExpr } from "../syntax/ast.ts";
import { formatDouble } from "../values/format-double.ts";
import { JsonObjectView } from "../values/json-view.ts";
import {
  CelError,
  CelLazyObject,
  CelList,
  CelMap,
  CelObject,
  CelOptional,
  type CelResult,
  CelUint,
  type CelValue,
  NO_SUCH_OVERLOAD,
} from "../values/value.ts";
import { attributeRefund, rootCost } from "./attribute.ts";
import {
  type Evaluate,
  isError,
  type Plan,
  type Planning,
  planStrict,
  planUnary,
  type StrictOptions,
} from "./plan.ts";

export function planSelect(planning: Planning, e: SelectExpr): Plan {
  const plan = planning.plan(e.operand);
  const { field } = e;
  const prepare = preparation(planning, () => field);
  if (e.testOnly) {
    const extra = rootCost(e.operand);
    const test = (operand: Evaluate): Evaluate => {
      return (context) => {
        const value = operand(context);
        if (value instanceof CelError) return value;
        if (extra > 0) context.charge(extra);
        return isPresent(value, field);
      };
    };
    return planUnary(plan, test, { prepare });
  }
  const cost = 1 + rootCost(e.operand);
  const select = (operand: Evaluate): Evaluate => {
    return (context) => {
      const value = operand(context);
      if (value instanceof CelError) return value;
      context.charge(cost);
      if (value instanceof JsonObjectView) return value.find(field) ?? noSuchKey(field);
      return selectField(value, field);
    };
  };
  return planUnary(plan, select, { prepare });
}

/**
 * A lazily computed field is computed resumably before it is selected: the computation may take
 * long.
 */
function preparation(
  planning: Planning,
  fieldOf: (operands: readonly CelResult[]) => CelResult | undefined,
): StrictOptions["prepare"] {
  if (!planning.mayBeLazy) return undefined;
  return (operands) => {
    const [value] = operands;
    const field = fieldOf(operands);
    if (!(value instanceof CelLazyObject) || typeof field !== "string") return undefined;
    return value.compute(field);
  };
}

function noSuchKey(key: CelValue): CelError {
  return new CelError(`no such key: ${keyText(key)}`);
}

function keyText(key: CelValue): string {
  if (key instanceof CelUint) return String(key.value);
  return typeof key === "number" ? formatDouble(key) : String(key);
}

function selectField(value: CelValue, field: string): CelResult {
  if (value instanceof CelOptional) return selectOptional(value, field);
  const found = findField(value, field);
  if (found !== undefined) return found;
  return value instanceof CelMap ? noSuchKey(field) : new CelError(`no such field '${field}'`);
}

/** The field, undefined if it is absent, an error if there can be no fields. */
function findField(value: CelValue, field: string): CelResult | undefined {
  if (value instanceof CelMap) return value.find(field);
  if (value instanceof CelObject) return value.select(field);
  if (value instanceof CelList) return new CelError("unsupported index type 'string' in list");
  return noSuchKey(field);
}

function isPresent(value: CelValue, field: string): CelResult {
  if (value instanceof CelOptional) {
    return value.value === undefined ? false : isPresent(value.value, field);
  }
  if (!hasParts(value)) return false;
  const found = findField(value, field);
  // Data that does not match its type is an error for either result.
  return found instanceof CelError ? found : found !== undefined;
}

/** A value without members has none of them: Kubernetes disables cel-go's error for this. */
function hasParts(value: CelValue): boolean {
  return value instanceof CelMap || value instanceof CelObject || value instanceof CelList;
}

/** An optional of the field; none stays none. */
function selectOptional(value: CelValue, field: string): CelResult {
  if (value instanceof CelOptional) {
    return value.value === undefined ? value : selectOptional(value.value, field);
  }
  return hasParts(value) ? toOptional(findField(value, field)) : CelOptional.none;
}

function toOptional(found: CelResult | undefined): CelResult {
  if (found === undefined) return CelOptional.none;
  if (found instanceof CelError || found instanceof CelOptional) return found;
  return CelOptional.of(found);
}

export function planOptionalSelect(planning: Planning, e: CallExpr): Plan {
  const [operandExpr, fieldExpr] = e.args;
  if (operandExpr === undefined || fieldExpr?.kind !== "literal")
    return { run: () => NO_SUCH_OVERLOAD };
  const field = String(fieldExpr.literal.value);
  const cost = rootCost(operandExpr);
  const select = (operand: Evaluate): Evaluate => {
    return (context) => {
      const value = operand(context);
      if (value instanceof CelError) return value;
      const found = selectOptional(value, field);
      context.charge(found === CelOptional.none ? cost : cost + 1);
      return found;
    };
  };
  const prepare = preparation(planning, () => field);
  return planUnary(planning.plan(operandExpr), select, { prepare });
}

export function planIndex(planning: Planning, e: CallExpr): Plan {
  const [operandExpr, indexExpr] = e.args;
  if (operandExpr === undefined || indexExpr === undefined) return { run: () => NO_SUCH_OVERLOAD };
  const cost = rootCost(operandExpr);
  const find = e.function === Operator.optIndex ? indexOptional : indexValue;
  const make = ([operand, index]: readonly Evaluate[]): Evaluate => {
    return (context) => {
      const value = (operand as Evaluate)(context);
      if (value instanceof CelError) return value;
      const key = (index as Evaluate)(context);
      if (key instanceof CelError) return key;
      const found = find(value, key);
      context.charge(found === CelOptional.none ? cost : cost + 1);
      return found;
    };
  };
  const operands = [planning.plan(operandExpr), planIndexKey(planning, indexExpr)];
  const prepare = preparation(planning, ([, key]) => key);
  return planStrict(operands, make, { stopsAt: isError, prepare });
}

/** Its root is free. */
function planIndexKey(planning: Planning, e: Expr): Plan {
  const plan = planning.plan(e);
  const refund = attributeRefund(e);
  if (refund === 0) return plan;
  const { run, resumable } = plan;
  if (run === undefined) {
    return {
      resumable: (context) => {
        context.refund(refund);
        return resumable(context);
      },
    };
  }
  return {
    run: (context) => {
      context.refund(refund);
      return run(context);
    },
  };
}

function indexValue(value: CelValue, key: CelValue): CelResult {
  if (value instanceof CelOptional) return indexOptional(value, key);
  const found = findIndex(value, key);
  if (found !== undefined) return found;
  if (value instanceof CelList) return new CelError(`index out of bounds: ${keyText(key)}`);
  return noSuchKey(key);
}

function indexOptional(value: CelValue, key: CelValue): CelResult {
  if (value instanceof CelOptional) {
    return value.value === undefined ? value : indexOptional(value.value, key);
  }
  return hasParts(value) ? toOptional(findIndex(value, key)) : CelOptional.none;
}

function findIndex(value: CelValue, key: CelValue): CelResult | undefined {
  if (value instanceof CelMap) return value.find(key);
  if (value instanceof CelList) {
    const index = listIndex(key);
    if (index === undefined) return new CelError(`unsupported index type '${typeof key}' in list`);
    return index >= 0 && index < value.size ? value.get(index) : undefined;
  }
  if (value instanceof CelObject && typeof key === "string") return value.select(key);
  return noSuchKey(key);
}

/** Any number that is whole is an index. */
function listIndex(key: CelValue): number | undefined {
  if (typeof key === "bigint") return Number(key);
  if (key instanceof CelUint) return Number(key.value);
  return typeof key === "number" && Number.isInteger(key) ? key : undefined;
}
