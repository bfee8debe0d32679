/** Iterates over a list or a map, with the iteration variables set for each round. */
import type { Resumable } from "../../base/index.ts";
import { toInt } from "../values/json-view.ts";
import { CelList, CelMap, type CelResult, type CelValue } from "../values/value.ts";
import type { EvalContext } from "./eval-context.ts";
import type { Plan } from "./plan.ts";

/** Runs a loop; its result is in the accumulator's slot. */
export type Loop = (context: EvalContext, collection: CelList | CelMap) => Resumable<void>;

export type IterationSlots =
  | { readonly one: number; readonly key?: undefined }
  | { readonly key: number; readonly value: number; readonly one?: undefined };

export interface LoopSlots {
  readonly accuSlot: number;
  readonly slots: IterationSlots;
}

export interface Rounds {
  readonly slots: IterationSlots;
  /** Called before a round is evaluated; false ends the loop. */
  readonly begin?: () => boolean;
  readonly plan: Plan;
  /** Called with the result of a round; false ends the loop. */
  readonly take: (value: CelResult) => boolean;
}

/** Sets the iteration variables for each round, and evaluates it. */
export function* forEach(
  context: EvalContext,
  collection: CelList | CelMap,
  { slots, begin, plan, take }: Rounds,
): Resumable<void> {
  const { run, resumable } = plan;
  const keys = collection instanceof CelMap ? collection.keys() : undefined;
  const { size } = keys === undefined ? (collection as CelList) : { size: keys.length };
  for (let i = 0; i < size; i++) {
    context.iterate();
    if (slots.one !== undefined) {
      context.locals[slots.one] =
        keys === undefined ? (collection as CelList).get(i) : (keys[i] ?? null);
    } else {
      const key: CelValue = keys === undefined ? toInt(i) : (keys[i] ?? null);
      context.locals[slots.key] = key;
      context.locals[slots.value] = valueAt(collection, key, i);
    }
    if (begin !== undefined && !begin()) return;
    const value = run === undefined ? yield* resumable(context) : run(context);
    if (!take(value)) return;
    if (context.isRestDue()) yield;
  }
}

function valueAt(collection: CelList | CelMap, key: CelValue, index: number): CelResult {
  return collection instanceof CelList ? collection.get(index) : (collection.find(key) ?? null);
}
