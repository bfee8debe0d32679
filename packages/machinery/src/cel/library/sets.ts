/** Lists as sets: `sets.contains`, `sets.equivalent`, `sets.intersects`. */
import type { Library } from "../check/environment.ts";
import { type CallContext, fn, global, type Overload } from "../check/function-declaration.ts";
import { add, multiply, multiplyByFactor, ONE, UNKNOWN_SIZE } from "../cost/estimate.ts";
import { costSize } from "../cost/sizes.ts";
import { BOOL, listOf, typeParam } from "../types/type.ts";
import { listContains } from "../values/compare.ts";
import { CelError, type CelList, type CelResult, type CelValue } from "../values/value.ts";

const LIST = listOf(typeParam("T"));

export const setsLibrary: Library = {
  functions: [
    fn("sets.contains", overload("list_sets_contains_list", contains, 1)),
    // Equivalence may take two rounds of comparisons, so that each list is found in the other.
    fn("sets.equivalent", overload("list_sets_equivalent_list", equivalent, 2)),
    fn("sets.intersects", overload("list_sets_intersects_list", intersects, 1)),
  ],
};

type SetCall = (a: CelList, b: CelList, context: CallContext) => CelResult;

function overload(id: string, call: SetCall, factor: number): Overload {
  return global(id, [LIST, LIST], BOOL, call, {
    cost: (_result: CelResult, a: CelValue, b: CelValue) => 1 + costSize(a) * costSize(b) * factor,
    estimate: ({ args }) => {
      const comparisons = multiply(args[0]?.size ?? UNKNOWN_SIZE, args[1]?.size ?? UNKNOWN_SIZE);
      return { cost: add(multiplyByFactor(comparisons, factor), ONE) };
    },
  });
}

function contains(list: CelList, wanted: CelList, context: CallContext): CelResult {
  for (let i = 0; i < wanted.size; i++) {
    const element = wanted.get(i);
    if (element instanceof CelError) return element;
    const found = listContains(list, element, context);
    if (found !== true) return found;
  }
  return true;
}

function equivalent(a: CelList, b: CelList, context: CallContext): CelResult {
  const covered = contains(a, b, context);
  return covered === true ? contains(b, a, context) : covered;
}

function intersects(a: CelList, b: CelList, context: CallContext): CelResult {
  for (let i = 0; i < a.size; i++) {
    const element = a.get(i);
    if (element instanceof CelError) return element;
    if (listContains(b, element, context) === true) return true;
  }
  return false;
}
