/** Sizes of values for cost tracking at runtime. */
import { codePointCount } from "../syntax/source.ts";
import { chargeSteps, chargeText } from "../values/step-counter.ts";
import {
  CelList,
  CelMap,
  CelObject,
  CelOptional,
  type CelResult,
  type CelValue,
} from "../values/value.ts";
import { PATTERN_FACTOR, TRAVERSAL_FACTOR } from "./estimate.ts";

/** The result of `size()`, and 1 for values without a size. */
export function costSize(value: CelResult): number {
  if (typeof value === "string") {
    chargeText(value.length);
    return codePointCount(value);
  }
  if (value === null || typeof value !== "object") return 1;
  if (value instanceof CelList || value instanceof CelMap) return value.size;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof CelOptional) return value.value === undefined ? 1 : costSize(value.value);
  return value instanceof CelObject ? value.costSize : 1;
}

export function traversalCost(value: CelResult, factor = 1): number {
  return Math.ceil(costSize(value) * factor * TRAVERSAL_FACTOR);
}

/** Reads the first argument once. */
export function firstArgumentCost(_result: CelResult, first: CelValue): number {
  return traversalCost(first);
}

/** Reads the second argument once. */
export function secondArgumentCost(_result: CelResult, _first: CelValue, second: CelValue): number {
  return traversalCost(second);
}

/** Compares two values: the size of the smaller one. */
export function comparisonCost(_result: CelResult, a: CelValue, b: CelValue): number {
  if (typeof a === "string" && typeof b === "string") {
    return Math.ceil(shorterSize(a, b) * TRAVERSAL_FACTOR);
  }
  if (typeof a !== "object" && typeof a !== "string") return 1;
  return Math.ceil(Math.min(costSize(a), costSize(b)) * TRAVERSAL_FACTOR);
}

/**
 * The size of the shorter text; a text with half as many units is certainly shorter, and the other
 * one is not read.
 */
function shorterSize(a: string, b: string): number {
  if (a.length * 2 <= b.length) return costSize(a);
  return b.length * 2 <= a.length ? costSize(b) : Math.min(costSize(a), costSize(b));
}

/** Reads both arguments once. */
export function concatenationCost(_result: CelResult, a: CelValue, b: CelValue): number {
  return Math.ceil((costSize(a) + costSize(b)) * TRAVERSAL_FACTOR);
}

/** Applies a pattern to a text. */
export function patternCost(_result: CelResult, text: CelValue, pattern: CelValue): number {
  // One is added so that an expensive pattern is not free on an empty text.
  const textCost = Math.ceil((1 + costSize(text)) * TRAVERSAL_FACTOR);
  return textCost * Math.ceil(costSize(pattern) * PATTERN_FACTOR);
}

/** Reads a complete tree once, rounded down at each text as Kubernetes does. */
export function deepTraversalCost(value: CelResult): number {
  if (typeof value === "string") {
    chargeText(value.length);
    return Math.floor(utf8Length(value) * TRAVERSAL_FACTOR);
  }
  if (value instanceof Uint8Array) return Math.floor(value.length * TRAVERSAL_FACTOR);
  if (value instanceof CelList) {
    // Texts of up to nine characters and empty lists are free, whatever their number; and a list
    // may contain another one many times.
    chargeSteps(value.size + 1);
    let cost = 0;
    for (let i = 0; i < value.size; i++) cost += deepTraversalCost(value.get(i));
    return cost;
  }
  if (value instanceof CelMap) {
    chargeSteps(value.size + 1);
    let cost = 0;
    for (const key of value.keys()) {
      cost += deepTraversalCost(key) + deepTraversalCost(value.find(key) ?? null);
    }
    return cost;
  }
  return 1;
}

function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) length += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1;
  }
  return length;
}
