/** Arithmetic that fails instead of wrapping around, in cel-go's words. */
import { INT_MAX, INT_MIN, UINT_MAX } from "./int-ranges.ts";
import { CelError, type CelResult, CelUint } from "./value.ts";

const INT_OVERFLOW = new CelError("integer overflow");
const UINT_OVERFLOW = new CelError("unsigned integer overflow");
const DIVISION_BY_ZERO = new CelError("division by zero");
const MODULUS_BY_ZERO = new CelError("modulus by zero");

export function intResult(value: bigint): CelResult {
  return value >= INT_MIN && value <= INT_MAX ? value : INT_OVERFLOW;
}

export function uintResult(value: bigint): CelResult {
  return value >= 0n && value <= UINT_MAX ? new CelUint(value) : UINT_OVERFLOW;
}

export const addInt = (a: bigint, b: bigint) => intResult(a + b);
export const subtractInt = (a: bigint, b: bigint) => intResult(a - b);
export const multiplyInt = (a: bigint, b: bigint) => intResult(a * b);
export const divideInt = (a: bigint, b: bigint) => (b === 0n ? DIVISION_BY_ZERO : intResult(a / b));
export const negateInt = (a: bigint) => intResult(-a);

export function moduloInt(a: bigint, b: bigint): CelResult {
  if (b === 0n) return MODULUS_BY_ZERO;
  // The quotient of the smallest int and -1 does not fit, and cel-go asks for the quotient first.
  return a === INT_MIN && b === -1n ? INT_OVERFLOW : a % b;
}

export const addUint = (a: CelUint, b: CelUint) => uintResult(a.value + b.value);
export const subtractUint = (a: CelUint, b: CelUint) => uintResult(a.value - b.value);
export const multiplyUint = (a: CelUint, b: CelUint) => uintResult(a.value * b.value);

export function divideUint(a: CelUint, b: CelUint): CelResult {
  return b.value === 0n ? DIVISION_BY_ZERO : new CelUint(a.value / b.value);
}

export function moduloUint(a: CelUint, b: CelUint): CelResult {
  return b.value === 0n ? MODULUS_BY_ZERO : new CelUint(a.value % b.value);
}

/** A double as an int: its whole part, if that fits. */
export function doubleToInt(value: number): CelResult {
  if (!(value > -(2 ** 63) && value < 2 ** 63)) return INT_OVERFLOW;
  return BigInt(Math.trunc(value));
}

export function doubleToUint(value: number): CelResult {
  if (!(value >= 0 && value < 2 ** 64)) return UINT_OVERFLOW;
  return new CelUint(BigInt(Math.trunc(value)));
}
