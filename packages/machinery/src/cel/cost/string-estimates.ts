/** Static costs of the string extensions, as Kubernetes estimates them. */
import type { CallEstimator, EstimatedCall } from "./call-estimate.ts";
import {
  add,
  COST_MAX,
  multiply,
  multiplyByFactor,
  ONE,
  type SizeEstimate,
  TRAVERSAL_FACTOR,
  UNKNOWN_SIZE,
} from "./estimate.ts";

function targetSize(call: EstimatedCall): SizeEstimate {
  return call.target?.size ?? UNKNOWN_SIZE;
}

function argSize(call: EstimatedCall, index: number): SizeEstimate {
  return call.args[index]?.size ?? UNKNOWN_SIZE;
}

/** `indexOf` and its kin, on texts and on lists: one comparison for each element. */
export const searchEstimate: CallEstimator = (call) => {
  const { target } = call;
  if (target === undefined) return undefined;
  if (target.type.kind !== "list") return { cost: multiplyByFactor(target.size, TRAVERSAL_FACTOR) };
  const element = target.type.param(0).kind;
  const isText = element === "string" || element === "bytes";
  const each = isText ? add(ONE, multiplyByFactor(target.elementSize, TRAVERSAL_FACTOR)) : ONE;
  return { cost: multiply(target.size, each) };
};

export const formatEstimate: CallEstimator = (call) => {
  return { cost: multiplyByFactor(targetSize(call), TRAVERSAL_FACTOR) };
};

export const quoteEstimate: CallEstimator = (call) => {
  const size = argSize(call, 0);
  const resultSize = { min: size.min + 2, max: Math.min(size.max * 2 + 2, COST_MAX) };
  return { cost: multiplyByFactor(size, TRAVERSAL_FACTOR), resultSize };
};

export const replaceEstimate: CallEstimator = (call) => {
  const size = targetSize(call);
  const resultSize = replacedSize(size, argSize(call, 0), argSize(call, 1));
  return { cost: multiplyByFactor(size, 2 * TRAVERSAL_FACTOR), resultSize };
};

/** The longest and the shortest text that replacing `from` by `to` can make. */
function replacedSize(size: SizeEstimate, from: SizeEstimate, to: SizeEstimate): SizeEstimate {
  let countMax = 0;
  let keptMax = 0;
  if (from.min === 0) {
    countMax = Math.min(size.max + 1, COST_MAX);
    keptMax = size.max;
  } else if (to.max <= from.min) keptMax = size.max;
  else countMax = Math.ceil(size.max / from.min);
  let countMin = 0;
  let keptMin = 0;
  if (from.max === 0) {
    countMin = size.min + 1;
    keptMin = size.min;
  } else if (from.max <= to.min) keptMin = size.min;
  else countMin = Math.ceil(size.min / from.max);
  return add(multiply({ min: countMin, max: countMax }, to), { min: keptMin, max: keptMax });
}

export const splitEstimate: CallEstimator = (call) => {
  const size = targetSize(call);
  const limit = call.args[1]?.expr;
  const literal =
    limit?.kind === "literal" && limit.literal.type === "int" ? limit.literal.value : undefined;
  const max = literal === undefined ? size.max : literal < 0n ? COST_MAX : Number(literal);
  return { cost: multiplyByFactor(size, 2 * TRAVERSAL_FACTOR), resultSize: { min: 0, max } };
};

export const joinEstimate: CallEstimator = (call) => {
  const list = targetSize(call);
  let resultSize = multiply(list, call.target?.elementSize ?? UNKNOWN_SIZE);
  if (call.args.length > 0) {
    const separators = { min: Math.max(0, list.min - 1), max: Math.max(0, list.max - 1) };
    resultSize = add(resultSize, multiply(argSize(call, 0), separators));
  }
  return { cost: multiplyByFactor(resultSize, TRAVERSAL_FACTOR), resultSize };
};
