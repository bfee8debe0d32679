/**
 * Static costs of the standard operators and functions whose work depends on their arguments'
 * sizes.
 */
import type { CallEstimate, CallEstimator, EstimatedCall } from "./call-estimate.ts";
import {
  add,
  fixed,
  multiply,
  multiplyByFactor,
  ONE,
  PATTERN_FACTOR,
  type SizeEstimate,
  TRAVERSAL_FACTOR,
  UNKNOWN_SIZE,
  union,
} from "./estimate.ts";

function sizeOf(call: EstimatedCall, index: number): SizeEstimate {
  return call.args[index]?.size ?? UNKNOWN_SIZE;
}

/** Equality and order: the maximum size of the smaller side. */
export const comparisonEstimate: CallEstimator = (call) => {
  const library = libraryTypeEstimate(call);
  if (library !== undefined) return library;
  const smallerMax = Math.min(sizeOf(call, 0).max, sizeOf(call, 1).max);
  const range = { min: smallerMax > 0 ? 1 : 0, max: smallerMax };
  return { cost: multiplyByFactor(range, TRAVERSAL_FACTOR) };
};

/** The longest name of a format, as Kubernetes assumes it. */
const FORMAT_NAME_LENGTH_MAX = 64;

/** Values of Kubernetes' own types compare at a fixed cost, except for long texts. */
function libraryTypeEstimate({ args }: EstimatedCall): CallEstimate | undefined {
  const [left, right] = args;
  if (left === undefined || right === undefined || left.type.name !== right.type.name)
    return undefined;
  const { kind, name } = left.type;
  if (kind === "opaque" && (name === "net.IP" || name === "net.CIDR")) return { cost: ONE };
  if (kind !== "struct" || !name.startsWith("kubernetes.")) return undefined;
  if (name === "kubernetes.NamedFormat") {
    return { cost: multiplyByFactor({ min: 1, max: FORMAT_NAME_LENGTH_MAX }, TRAVERSAL_FACTOR) };
  }
  if (name !== "kubernetes.URL") return { cost: ONE };
  const max = right.sizeKnown ? right.size.max : 1;
  return { cost: multiplyByFactor({ min: 1, max }, TRAVERSAL_FACTOR) };
}

export const concatenationEstimate: CallEstimator = (call) => {
  const resultSize = add(sizeOf(call, 0), sizeOf(call, 1));
  return { cost: multiplyByFactor(resultSize, TRAVERSAL_FACTOR), resultSize };
};

export const listConcatenationEstimate: CallEstimator = (call) => {
  return { cost: ONE, resultSize: add(sizeOf(call, 0), sizeOf(call, 1)) };
};

/** `x in list` reads every element. */
export const membershipEstimate: CallEstimator = (call) => ({
  cost: multiplyByFactor(sizeOf(call, 1), 1),
});

/** The cost of `? :` is that of its operands, which the estimator adds itself. */
export const conditionalSize: CallEstimator = (call) => {
  return { cost: fixed(0), resultSize: union(sizeOf(call, 1), sizeOf(call, 2)) };
};

export const affixEstimate: CallEstimator = (call) => {
  return { cost: multiplyByFactor(sizeOf(call, 0), TRAVERSAL_FACTOR) };
};

export const containsEstimate: CallEstimator = (call) => {
  const text = multiplyByFactor(call.target?.size ?? UNKNOWN_SIZE, TRAVERSAL_FACTOR);
  return { cost: multiply(text, multiplyByFactor(sizeOf(call, 0), TRAVERSAL_FACTOR)) };
};

/** A pattern applied to the target, or to the first argument. */
export const patternEstimate: CallEstimator = (call): CallEstimate | undefined => {
  // cel-go prices the global form of `matches` as a plain call.
  if (call.target === undefined) return undefined;
  const text = multiplyByFactor(add(call.target.size, ONE), TRAVERSAL_FACTOR);
  return { cost: multiply(text, multiplyByFactor(sizeOf(call, 0), PATTERN_FACTOR)) };
};

export const stringToBytesEstimate: CallEstimator = (call) => {
  const size = sizeOf(call, 0);
  const resultSize = { min: size.min, max: multiply(size, fixed(4)).max };
  return { cost: multiplyByFactor(size, TRAVERSAL_FACTOR), resultSize };
};

export const bytesToStringEstimate: CallEstimator = (call) => {
  const size = sizeOf(call, 0);
  const resultSize = { min: Math.floor(size.min / 4), max: size.max };
  return { cost: multiplyByFactor(size, TRAVERSAL_FACTOR), resultSize };
};
