/**
 * Ranges of sizes and costs, with arithmetic that saturates at the largest 64-bit number instead of
 * overflowing.
 *
 * Numbers up to 2^53 are exact; beyond that only their magnitude matters, all budgets being far
 * below.
 */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** A size: characters, bytes, elements or entries. */
export type SizeEstimate = Range;
export type CostEstimate = Range;

/** The largest 64-bit number, as near as a double gets. */
export const COST_MAX = 2 ** 64;

export const UNKNOWN_SIZE: SizeEstimate = { min: 0, max: COST_MAX };
export const ZERO: Range = { min: 0, max: 0 };
export const ONE: Range = { min: 1, max: 1 };

export function fixed(value: number): Range {
  return { min: value, max: value };
}

function saturate(value: number): number {
  return Math.min(value, COST_MAX);
}

export function add(...ranges: readonly Range[]): Range {
  let min = 0;
  let max = 0;
  for (const range of ranges) {
    min += range.min;
    max += range.max;
  }
  return { min: saturate(min), max: saturate(max) };
}

export function multiply(a: Range, b: Range): Range {
  return { min: saturate(a.min * b.min), max: saturate(a.max * b.max) };
}

/** Rounded up, as cel-go does. */
export function multiplyByFactor(range: Range, factor: number): Range {
  return {
    min: saturate(Math.ceil(range.min * factor)),
    max: saturate(Math.ceil(range.max * factor)),
  };
}

/** The smallest range that covers both. */
export function union(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}

/** Cost of reading one character of a text once. */
export const TRAVERSAL_FACTOR = 0.1;
/** Cost of applying one character of a regular expression to a text of unit cost. */
export const PATTERN_FACTOR = 0.25;
export const LIST_CREATE_COST = 10;
export const MAP_CREATE_COST = 30;
export const STRUCT_CREATE_COST = 40;
