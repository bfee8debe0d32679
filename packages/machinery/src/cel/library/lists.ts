/**
 * The list extensions of cel-go, version 3: `slice`, `flatten`, `sort`, `sortBy`, `distinct`,
 * `lists.range`, `reverse`.
 */
import type { Library } from "../check/environment.ts";
import { type CallContext, fn, global, member } from "../check/function-declaration.ts";
import {
  listCost,
  listEstimate,
  literalSize,
  selfComparisonCost,
  selfComparisonEstimate,
} from "../cost/list-estimates.ts";
import { costSize } from "../cost/sizes.ts";
import { RESULT_ELEMENTS_MAX } from "../limits.ts";
import { SORT_BY_ASSOCIATED_KEYS, sortByMacros } from "../syntax/binding-macros.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  STRING,
  TIMESTAMP,
  type Type,
  typeParam,
  UINT,
} from "../types/type.ts";
import { ArrayList, elementsOf } from "../values/collections.ts";
import { compareValues, equalValues } from "../values/compare.ts";
import { toInt } from "../values/json-view.ts";
import { typeNameOf } from "../values/kind.ts";
import { chargeSteps, chargeText } from "../values/step-counter.ts";
import { CelError, CelList, type CelResult, type CelValue } from "../values/value.ts";

const T = typeParam("T");
const LIST = listOf(T);
const LIST_DYN = listOf(DYN);

/** Types whose values have an order. */
export const COMPARABLE: readonly Type[] = [
  INT,
  UINT,
  DOUBLE,
  BOOL,
  DURATION,
  TIMESTAMP,
  STRING,
  BYTES,
];

const resultSized = (result: CelResult) => listCost(1, costSize(result));

export const listsLibrary: Library = {
  macros: sortByMacros,
  functions: [
    fn(
      "slice",
      member("list_slice", [LIST, INT, INT], LIST, slice, {
        cost: resultSized,
        estimate: ({ target, args }) => {
          const end = literalSize(args[1]) ?? target?.size.max ?? 0;
          const size = Math.max(0, end - (literalSize(args[0]) ?? 0));
          return listEstimate({ min: size, max: size }, 1);
        },
      }),
    ),
    fn(
      "flatten",
      member(
        "list_flatten",
        [listOf(LIST)],
        LIST,
        (list: CelList, c: CallContext) => flattenTo(list, 1n, c),
        {
          cost: (_result: CelResult, list: CelValue) => listCost(1, costSize(list)),
          estimate: ({ target }) => target && listEstimate(target.size, 1),
        },
      ),
      member("list_flatten_int", [LIST_DYN, INT], LIST_DYN, flattenTo, {
        cost: (_result: CelResult, list: CelValue, depth: bigint) =>
          listCost(Number(depth), costSize(list)),
        estimate: ({ target, args }) =>
          target && listEstimate(target.size, literalSize(args[0]) ?? 2 ** 64),
      }),
    ),
    fn(
      "lists.range",
      global("lists_range", [INT], listOf(INT), range, {
        cost: resultSized,
        estimate: ({ args }) => {
          const size = literalSize(args[0]) ?? 2 ** 64;
          return listEstimate({ min: size, max: size }, 1);
        },
      }),
    ),
    fn(
      "reverse",
      member("list_reverse", [LIST], LIST, reverse, {
        cost: resultSized,
        estimate: ({ target }) => target && listEstimate(target.size, 1),
      }),
    ),
    fn(
      "distinct",
      member("list_distinct", [LIST], LIST, distinct, {
        cost: (_result: CelResult, list: CelList) => selfComparisonCost(list),
        estimate: ({ target }) => target && selfComparisonEstimate(target.size, undefined),
      }),
    ),
    fn(
      "sort",
      ...COMPARABLE.map((type) =>
        member(
          `list_${type.name}_sort`,
          [listOf(type)],
          listOf(type),
          (list: CelList, c: CallContext) => sortByKeys(list, list, c),
          {
            cost: (_result: CelResult, list: CelList) => selfComparisonCost(list),
            estimate: ({ target }) => target && selfComparisonEstimate(target.size, type),
          },
        ),
      ),
    ),
    fn(
      SORT_BY_ASSOCIATED_KEYS,
      ...COMPARABLE.map((type) =>
        member(`list_${type.name}_sortByAssociatedKeys`, [LIST, listOf(type)], LIST, sortByKeys, {
          cost: (_result: CelResult, _list: CelValue, keys: CelList) => selfComparisonCost(keys),
          estimate: ({ args }) => args[0] && selfComparisonEstimate(args[0].size, type),
        }),
      ),
    ),
  ],
};

function slice(list: CelList, start: bigint, end: bigint): CelResult {
  if (start < 0n || end < 0n) {
    return new CelError(`cannot slice(${start}, ${end}), negative indexes not supported`);
  }
  if (start > end) {
    return new CelError(
      `cannot slice(${start}, ${end}), start index must be less than or equal to end index`,
    );
  }
  if (BigInt(list.size) < end) {
    return new CelError(`cannot slice(${start}, ${end}), list is length ${list.size}`);
  }
  const values: CelValue[] = [];
  for (let i = Number(start); i < Number(end); i++) {
    const value = list.get(i);
    if (value instanceof CelError) return value;
    values.push(value);
  }
  return new ArrayList(values);
}

function flattenTo(list: CelList, depth: bigint, context: CallContext): CelResult {
  if (depth < 0n) return new CelError("level must be non-negative");
  const values: CelValue[] = [];
  const add = (source: CelList, level: bigint): CelError | undefined => {
    context.step(source.size * 2 + 4);
    const elements = elementsOf(source);
    if (elements instanceof CelError) return elements;
    for (const element of elements) {
      if (!(element instanceof CelList) || level === 0n) values.push(element);
      else {
        const problem = add(element, level - 1n);
        if (problem !== undefined) return problem;
      }
    }
    return undefined;
  };
  return add(list, depth) ?? new ArrayList(values);
}

function range(count: bigint, context: CallContext): CelResult {
  if (count > BigInt(RESULT_ELEMENTS_MAX)) {
    return new CelError(`result exceeds limit: size: ${count}, limit ${RESULT_ELEMENTS_MAX}`);
  }
  const size = Math.max(0, Number(count));
  context.step(size);
  return new ArrayList(Array.from({ length: size }, (_, i) => toInt(i)));
}

function reverse(list: CelList): CelResult {
  chargeSteps(list.size);
  const elements = elementsOf(list);
  return elements instanceof CelError ? elements : new ArrayList([...elements].reverse());
}

function distinct(list: CelList, context: CallContext): CelResult {
  context.step(list.size ** 2);
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  const seen = new Set<CelValue>();
  const kept: CelValue[] = [];
  for (const element of elements) {
    // Texts and bools are equal only to themselves, so a set finds them at once.
    if (typeof element === "string" || typeof element === "boolean") {
      if (typeof element === "string") chargeText(element.length);
      if (seen.has(element)) continue;
      seen.add(element);
    } else {
      if (kept.some((other) => equalValues(element, other, context) === true)) continue;
    }
    kept.push(element);
  }
  return new ArrayList(kept);
}

function sortByKeys(list: CelList, keyList: CelList, context: CallContext): CelResult {
  // As much as Kubernetes charges for it, but beforehand.
  context.step(keyList.size ** 2);
  const elements = elementsOf(list);
  if (elements instanceof CelError) return elements;
  const keys = elementsOf(keyList);
  if (keys instanceof CelError) return keys;
  if (elements.length !== keys.length) return new CelError("sortBy keys do not match the list");
  const [first] = keys;
  if (first === undefined) return list;
  if (compareValues(first, first) instanceof CelError)
    return new CelError("list elements must be comparable");
  const typeName = typeNameOf(first);
  if (keys.some((key) => typeNameOf(key) !== typeName)) {
    return new CelError("list elements must have the same type");
  }
  const order = keys.map((key, i) => ({ key, i }));
  order.sort((a, b) => Number(compareValues(a.key, b.key)) || a.i - b.i);
  return new ArrayList(order.map(({ i }) => elements[i] ?? null));
}
