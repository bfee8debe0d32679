/** Kubernetes' list functions: `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`. */
import type { Library } from "../check/environment.ts";
import { type CallContext, fn, member, type Overload } from "../check/function-declaration.ts";
import { deepTraversalCost } from "../cost/sizes.ts";
import { searchEstimate } from "../cost/string-estimates.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  listOf,
  STRING,
  TIMESTAMP,
  type Type,
  typeParam,
  UINT,
} from "../types/type.ts";
import { addInt, addUint } from "../values/arithmetic.ts";
import { elementsOf } from "../values/collections.ts";
import { compareValues, equalValues } from "../values/compare.ts";
import { chargeSteps } from "../values/step-counter.ts";
import { CelDuration, durationOf } from "../values/time.ts";
import {
  CelError,
  type CelList,
  type CelResult,
  CelUint,
  type CelValue,
  NO_SUCH_OVERLOAD,
} from "../values/value.ts";

const A = typeParam("A");
const price = {
  cost: (_result: CelResult, list: CelValue) => deepTraversalCost(list),
  estimate: searchEstimate,
};

const SUMMABLE: readonly (readonly [string, Type, CelValue])[] = [
  ["int", INT, 0n],
  ["uint", UINT, new CelUint(0n)],
  ["double", DOUBLE, 0],
  ["duration", DURATION, new CelDuration(0n)],
];
const COMPARABLE: readonly (readonly [string, Type])[] = [
  ["int", INT],
  ["uint", UINT],
  ["double", DOUBLE],
  ["bool", BOOL],
  ["duration", DURATION],
  ["timestamp", TIMESTAMP],
  ["string", STRING],
  ["bytes", BYTES],
];

export const kubernetesLists: Library = {
  functions: [
    fn(
      "isSorted",
      ...COMPARABLE.map(([name, type]) =>
        member(`list_${name}_is_sorted_bool`, [listOf(type)], BOOL, isSorted, price),
      ),
    ),
    fn(
      "sum",
      ...SUMMABLE.map(([name, type, zero]) =>
        member(
          `list_${name}_sum_${name}`,
          [listOf(type)],
          type,
          (list: CelList) => sum(list, zero),
          price,
        ),
      ),
    ),
    fn(
      "max",
      ...COMPARABLE.map(([name, type]) => extremeOverload("max", name, type, (order) => order < 0)),
    ),
    fn(
      "min",
      ...COMPARABLE.map(([name, type]) => extremeOverload("min", name, type, (order) => order > 0)),
    ),
    fn("indexOf", member("list_a_index_of_int", [listOf(A), A], INT, indexOf, price)),
    fn("lastIndexOf", member("list_a_last_index_of_int", [listOf(A), A], INT, lastIndexOf, price)),
  ],
};

function isSorted(list: CelList): CelResult {
  chargeSteps(list.size);
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  for (const [i, element] of elements.entries()) {
    const previous = elements[i - 1];
    const order =
      previous === undefined ? compareValues(element, element) : compareValues(previous, element);
    if (order instanceof CelError) return order;
    if (order > 0) return false;
  }
  return true;
}

function sum(list: CelList, zero: CelValue): CelResult {
  chargeSteps(list.size);
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  let total: CelResult = zero;
  for (const element of elements) {
    if (total instanceof CelError) return total;
    total = add(total, element);
  }
  return total;
}

function add(a: CelValue, b: CelValue): CelResult {
  if (typeof a === "bigint" && typeof b === "bigint") return addInt(a, b);
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (a instanceof CelUint && b instanceof CelUint) return addUint(a, b);
  if (a instanceof CelDuration && b instanceof CelDuration) return durationOf(a.nanos + b.nanos);
  return NO_SUCH_OVERLOAD;
}

function extremeOverload(
  name: string,
  typeName: string,
  type: Type,
  replaces: (order: number) => boolean,
): Overload {
  const call = (list: CelList): CelResult => {
    chargeSteps(list.size);
    const elements = elementsOf(list);
    if (elements instanceof CelError) return elements;
    let best: CelValue | undefined;
    for (const element of elements) {
      const order = compareValues(best ?? element, element);
      if (order instanceof CelError) return order;
      if (best === undefined || replaces(order)) best = element;
    }
    return best === undefined ? new CelError(`${name} called on empty list`) : best;
  };
  return member(`list_${typeName}_${name}_${typeName}`, [listOf(type)], type, call, price);
}

function indexOf(list: CelList, wanted: CelValue, context: CallContext): CelResult {
  context.step(list.size * 2);
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  return BigInt(elements.findIndex((element) => equalValues(element, wanted, context) === true));
}

function lastIndexOf(list: CelList, wanted: CelValue, context: CallContext): CelResult {
  context.step(list.size * 2);
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  return BigInt(
    elements.findLastIndex((element) => equalValues(element, wanted, context) === true),
  );
}
