/** Integers of JSON as CEL ints: most are small, and a table look-up is cheaper than making a bigint. */

const SMALLEST = -128;
const LARGEST = 1023;
const TABLE: readonly bigint[] = Array.from({ length: LARGEST - SMALLEST + 1 }, (_, i) =>
  BigInt(i + SMALLEST),
);

/** `value` is an integer. */
export function toInt(value: number): bigint {
  return TABLE[value - SMALLEST] ?? BigInt(value);
}

export const INT_MIN = -(2n ** 63n);
export const INT_MAX = 2n ** 63n - 1n;
export const UINT_MAX = 2n ** 64n - 1n;
