/** The math extensions: extremes, rounding, signs, bits. Kubernetes does not offer them. */
import type { Library } from "../check/environment.ts";
import {
  type FunctionDeclaration,
  fn,
  global,
  type Overload,
  type OverloadCall,
} from "../check/function-declaration.ts";
import { mathMacros } from "../syntax/math-macros.ts";
import { BOOL, DOUBLE, DYN, INT, listOf, type Type, UINT } from "../types/type.ts";
import { intResult } from "../values/arithmetic.ts";
import { elementsOf } from "../values/collections.ts";
import { compareValues } from "../values/compare.ts";
import { CelError, type CelList, type CelResult, CelUint, type CelValue } from "../values/value.ts";

const NUMBERS: readonly Type[] = [INT, UINT, DOUBLE];

export const mathLibrary: Library = {
  macros: mathMacros,
  functions: [
    extreme("math.@min", (order) => order > 0),
    extreme("math.@max", (order) => order < 0),
    onDouble("ceil", DOUBLE, Math.ceil),
    onDouble("floor", DOUBLE, Math.floor),
    onDouble("round", DOUBLE, roundAwayFromZero),
    onDouble("trunc", DOUBLE, Math.trunc),
    onDouble(
      "isInf",
      BOOL,
      (value) => value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY,
    ),
    onDouble("isNaN", BOOL, Number.isNaN),
    onDouble("isFinite", BOOL, Number.isFinite),
    fn(
      "math.sqrt",
      global("math_sqrt_double", [DOUBLE], DOUBLE, Math.sqrt),
      global("math_sqrt_int", [INT], DOUBLE, (value: bigint) => Math.sqrt(Number(value))),
      global("math_sqrt_uint", [UINT], DOUBLE, (value: CelUint) => Math.sqrt(Number(value.value))),
    ),
    fn(
      "math.abs",
      global("math_abs_double", [DOUBLE], DOUBLE, Math.abs),
      global("math_abs_int", [INT], INT, (value: bigint) => intResult(value < 0n ? -value : value)),
      global("math_abs_uint", [UINT], UINT, (value: CelUint) => value),
    ),
    fn(
      "math.sign",
      global("math_sign_double", [DOUBLE], DOUBLE, (value: number) =>
        value === 0 ? 0 : Math.sign(value),
      ),
      global("math_sign_int", [INT], INT, (value: bigint) =>
        value > 0n ? 1n : value < 0n ? -1n : 0n,
      ),
      global(
        "math_sign_uint",
        [UINT],
        UINT,
        (value: CelUint) => new CelUint(value.value > 0n ? 1n : 0n),
      ),
    ),
    bits("bitAnd", (a, b) => a & b),
    bits("bitOr", (a, b) => a | b),
    bits("bitXor", (a, b) => a ^ b),
    fn(
      "math.bitNot",
      global("math_bitNot_int_int", [INT], INT, (value: bigint) => ~value),
      global("math_bitNot_uint_uint", [UINT], UINT, (value: CelUint) => unsigned(~value.value)),
    ),
    shift("bitShiftLeft", (value, by) => value << by),
    shift("bitShiftRight", (value, by) => BigInt.asUintN(64, value) >> by),
  ],
};

function onDouble(
  name: string,
  result: Type,
  call: (value: number) => CelResult,
): FunctionDeclaration {
  return fn(`math.${name}`, global(`math_${name}_double`, [DOUBLE], result, call));
}

function roundAwayFromZero(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value));
}

function unsigned(value: bigint): CelUint {
  return new CelUint(BigInt.asUintN(64, value));
}

function bits(name: string, combine: (a: bigint, b: bigint) => bigint): FunctionDeclaration {
  return fn(
    `math.${name}`,
    global(`math_${name}_int_int`, [INT, INT], INT, (a: bigint, b: bigint) => combine(a, b)),
    global(`math_${name}_uint_uint`, [UINT, UINT], UINT, (a: CelUint, b: CelUint) =>
      unsigned(combine(a.value, b.value)),
    ),
  );
}

/** Shifts by 64 or more leave nothing; the sign bit is shifted like any other. */
function shift(name: string, apply: (value: bigint, by: bigint) => bigint): FunctionDeclaration {
  const shifted = (value: bigint, by: bigint): bigint | CelError => {
    if (by < 0n) return new CelError(`math.${name}() negative offset: ${by}`);
    return by >= 64n ? 0n : apply(value, by);
  };
  const onInt = (value: bigint, by: bigint): CelResult => {
    const result = shifted(value, by);
    return result instanceof CelError ? result : BigInt.asIntN(64, result);
  };
  const onUint = (value: CelUint, by: bigint): CelResult => {
    const result = shifted(value.value, by);
    return result instanceof CelError ? result : unsigned(result);
  };
  return fn(
    `math.${name}`,
    global(`math_${name}_int_int`, [INT, INT], INT, onInt),
    global(`math_${name}_uint_int`, [UINT, INT], UINT, onUint),
  );
}

function extreme(name: string, replaces: (order: number) => boolean): FunctionDeclaration {
  const pair = (a: CelValue, b: CelValue): CelResult => {
    const order = compareValues(a, b);
    if (order instanceof CelError) return new CelError(`no such overload: ${name}`);
    return replaces(order) ? b : a;
  };
  const list = (values: CelList): CelResult => {
    const elements = elementsOf(values);
    if (elements instanceof CelError) return elements;
    const [first, ...rest] = elements;
    if (first === undefined) return new CelError(`${name}(list) argument must not be empty`);
    let best: CelResult = pair(first, first);
    for (const element of rest) {
      if (best instanceof CelError) return best;
      best = pair(best, element);
    }
    return best;
  };
  const id = name.replace(".", "_");
  const overload = (
    suffix: string,
    params: readonly Type[],
    result: Type,
    call: OverloadCall,
  ): Overload => global(`${id}_${suffix}`, params, result, call);
  return fn(
    name,
    ...NUMBERS.map((type) => overload(type.name, [type], type, (value: CelValue) => value)),
    ...NUMBERS.flatMap((left) =>
      NUMBERS.map((right) =>
        overload(`${left.name}_${right.name}`, [left, right], left === right ? left : DYN, pair),
      ),
    ),
    ...NUMBERS.map((type) => overload(`list_${type.name}`, [listOf(type)], type, list)),
  );
}
