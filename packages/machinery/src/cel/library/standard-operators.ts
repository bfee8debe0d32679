/** The operators of the language: logic, equality, order, arithmetic, indexing, membership. */
import {
  type FunctionDeclaration,
  fn,
  global,
  type Overload,
} from "../check/function-declaration.ts";
import { comparisonCost, concatenationCost, costSize } from "../cost/sizes.ts";
import {
  comparisonEstimate,
  concatenationEstimate,
  conditionalSize,
  listConcatenationEstimate,
  membershipEstimate,
} from "../cost/standard-estimates.ts";
import { Operator } from "../syntax/ast.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  listOf,
  mapOf,
  STRING,
  TIMESTAMP,
  type Type,
  typeParam,
  UINT,
} from "../types/type.ts";
import * as arithmetic from "../values/arithmetic.ts";
import { ArrayList, elementsOf } from "../values/collections.ts";
import { compareValues } from "../values/compare.ts";
import { addKeyed, isKeyed } from "../values/keyed-list.ts";
import type { StepCounter } from "../values/step-counter.ts";
import { type CelDuration, type CelTimestamp, durationOf, timestampOf } from "../values/time.ts";
import { CelError, type CelList, type CelResult, type CelValue } from "../values/value.ts";

const A = typeParam("A");
const B = typeParam("B");
const LIST_A = listOf(A);
const MAP_AB = mapOf(A, B);

const NUMBERS = [
  ["int64", INT],
  ["uint64", UINT],
  ["double", DOUBLE],
] as const;

export const standardOperators: readonly FunctionDeclaration[] = [
  // The planner implements these itself, since they do not evaluate all their arguments or absorb
  // errors.
  fn(
    Operator.conditional,
    global("conditional", [BOOL, A, A], A, undefined, { estimate: conditionalSize }),
  ),
  fn(Operator.and, global("logical_and", [BOOL, BOOL], BOOL)),
  fn(Operator.or, global("logical_or", [BOOL, BOOL], BOOL)),
  fn(Operator.notStrictlyFalse, global("not_strictly_false", [BOOL], BOOL)),
  fn(
    Operator.not,
    global("logical_not", [BOOL], BOOL, (a: boolean) => !a),
  ),
  fn(Operator.equals, global("equals", [A, A], BOOL, undefined, comparisonExtras())),
  fn(Operator.notEquals, global("not_equals", [A, A], BOOL, undefined, comparisonExtras())),
  fn(Operator.index, global("index_list", [LIST_A, INT], A), global("index_map", [MAP_AB, A], B)),
  fn(
    Operator.in,
    global("in_list", [A, LIST_A], BOOL, undefined, {
      cost: (_result: CelResult, _value: CelValue, list: CelValue) => costSize(list),
      estimate: membershipEstimate,
    }),
    global("in_map", [A, MAP_AB], BOOL),
  ),
  ...comparisons(),
  ...sums(),
  ...products(),
];

function comparisonExtras() {
  return { cost: comparisonCost, estimate: comparisonEstimate };
}

function comparisons(): FunctionDeclaration[] {
  return [
    comparison(Operator.less, "less", (order) => order < 0),
    comparison(Operator.lessEquals, "less_equals", (order) => order <= 0),
    comparison(Operator.greater, "greater", (order) => order > 0),
    comparison(Operator.greaterEquals, "greater_equals", (order) => order >= 0),
  ];
}

function comparison(
  name: string,
  prefix: string,
  holds: (order: number) => boolean,
): FunctionDeclaration {
  const call = (a: CelValue, b: CelValue): CelResult => {
    const order = compareValues(a, b);
    return order instanceof CelError ? order : holds(order);
  };
  const same = (suffix: string, type: Type, extras = {}) =>
    global(`${prefix}_${suffix}`, [type, type], BOOL, call, extras);
  const numeric = NUMBERS.flatMap(([leftName, left]): Overload[] => {
    const others = NUMBERS.filter(([rightName]) => rightName !== leftName);
    others.sort(([x], [y]) => (x < y ? -1 : 1));
    return [
      same(leftName, left),
      ...others.map(([rightName, right]) =>
        global(`${prefix}_${leftName}_${rightName}`, [left, right], BOOL, call),
      ),
    ];
  });
  return fn(
    name,
    same("bool", BOOL),
    ...numeric,
    same("string", STRING, comparisonExtras()),
    same("bytes", BYTES, comparisonExtras()),
    same("timestamp", TIMESTAMP),
    same("duration", DURATION),
  );
}

function sums(): FunctionDeclaration[] {
  return [
    fn(
      Operator.add,
      global("add_bytes", [BYTES, BYTES], BYTES, addBytes, {
        cost: concatenationCost,
        estimate: concatenationEstimate,
      }),
      global("add_double", [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a + b),
      global("add_duration_duration", [DURATION, DURATION], DURATION, addDurations),
      global(
        "add_duration_timestamp",
        [DURATION, TIMESTAMP],
        TIMESTAMP,
        (d: CelDuration, t: CelTimestamp) => timestampOf(t.nanos + d.nanos, t.offsetSeconds),
      ),
      global(
        "add_timestamp_duration",
        [TIMESTAMP, DURATION],
        TIMESTAMP,
        (t: CelTimestamp, d: CelDuration) => timestampOf(t.nanos + d.nanos, t.offsetSeconds),
      ),
      global("add_int64", [INT, INT], INT, arithmetic.addInt),
      global("add_list", [LIST_A, LIST_A], LIST_A, addLists, {
        estimate: listConcatenationEstimate,
      }),
      global("add_string", [STRING, STRING], STRING, (a: string, b: string) => a + b, {
        cost: concatenationCost,
        estimate: concatenationEstimate,
      }),
      global("add_uint64", [UINT, UINT], UINT, arithmetic.addUint),
    ),
    fn(
      Operator.subtract,
      global("subtract_double", [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a - b),
      global(
        "subtract_duration_duration",
        [DURATION, DURATION],
        DURATION,
        (a: CelDuration, b: CelDuration) => durationOf(a.nanos - b.nanos),
      ),
      global("subtract_int64", [INT, INT], INT, arithmetic.subtractInt),
      global(
        "subtract_timestamp_duration",
        [TIMESTAMP, DURATION],
        TIMESTAMP,
        (t: CelTimestamp, d: CelDuration) => timestampOf(t.nanos - d.nanos, t.offsetSeconds),
      ),
      global(
        "subtract_timestamp_timestamp",
        [TIMESTAMP, TIMESTAMP],
        DURATION,
        (a: CelTimestamp, b: CelTimestamp) => durationOf(a.nanos - b.nanos),
      ),
      global("subtract_uint64", [UINT, UINT], UINT, arithmetic.subtractUint),
    ),
  ];
}

function products(): FunctionDeclaration[] {
  return [
    fn(
      Operator.divide,
      global("divide_double", [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a / b),
      global("divide_int64", [INT, INT], INT, arithmetic.divideInt),
      global("divide_uint64", [UINT, UINT], UINT, arithmetic.divideUint),
    ),
    fn(
      Operator.modulo,
      global("modulo_int64", [INT, INT], INT, arithmetic.moduloInt),
      global("modulo_uint64", [UINT, UINT], UINT, arithmetic.moduloUint),
    ),
    fn(
      Operator.multiply,
      global("multiply_double", [DOUBLE, DOUBLE], DOUBLE, (a: number, b: number) => a * b),
      global("multiply_int64", [INT, INT], INT, arithmetic.multiplyInt),
      global("multiply_uint64", [UINT, UINT], UINT, arithmetic.multiplyUint),
    ),
    fn(
      Operator.negate,
      global("negate_double", [DOUBLE], DOUBLE, (a: number) => -a),
      global("negate_int64", [INT], INT, arithmetic.negateInt),
    ),
  ];
}

function addDurations(a: CelDuration, b: CelDuration): CelResult {
  return durationOf(a.nanos + b.nanos);
}

function addBytes(a: Uint8Array, b: Uint8Array): CelResult {
  const joined = new Uint8Array(a.length + b.length);
  joined.set(a);
  joined.set(b, a.length);
  return joined;
}

function addLists(a: CelList, b: CelList, steps: StepCounter): CelResult {
  steps.step(a.size + b.size);
  if (isKeyed(a)) {
    steps.step((a.size + b.size) * 8);
    return addKeyed(a, b);
  }
  const left = elementsOf(a);
  if (left instanceof CelError) return left;
  const right = elementsOf(b);
  return right instanceof CelError ? right : new ArrayList([...left, ...right]);
}
