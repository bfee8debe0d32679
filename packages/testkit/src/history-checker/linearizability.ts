/**
 * Wing and Gong's search with Lowe's memory: whether there is an order of the operations, each
 * between its call and its return, in which a sequential object would have had these responses.
 *
 * An operation that never returned may take effect at any time after its call, or never. A model
 * may allow several next states.
 */
export interface TimedOperation {
  readonly invokedAt: number;
  /** Infinity: whether the operation took effect is unknown. */
  readonly returnedAt: number;
}

export interface Model<State, Op> {
  readonly initial: State;
  /**
   * The possible states of the object after this operation with this outcome; none when the outcome
   * is impossible.
   */
  step(state: State, operation: Op): readonly State[];
  /** Equal for equal states only. */
  stateKey(state: State): string;
}

export type Linearization<State, Op> =
  | { readonly kind: "linearizable"; readonly order: readonly Op[] }
  /**
   * The longest order that was found, the state after it, and the operations that could have come
   * next by time but not by their outcome.
   */
  | {
      readonly kind: "impossible";
      readonly order: readonly Op[];
      readonly state: State;
      readonly stuck: readonly Op[];
    }
  | { readonly kind: "undecided" };

interface Step<State> {
  readonly state: State;
  readonly done: bigint;
  /** The way here, newest first. */
  readonly operation: number;
  readonly before: Step<State> | undefined;
  readonly depth: number;
}

export function linearize<State, Op extends TimedOperation>(
  operations: readonly Op[],
  model: Model<State, Op>,
  stepsMax = 300_000,
): Linearization<State, Op> {
  const sorted = [...operations].sort((a, b) => a.invokedAt - b.invokedAt);
  let mustHappen = 0n;
  for (const [index, { returnedAt }] of sorted.entries()) {
    if (returnedAt !== Number.POSITIVE_INFINITY) mustHappen |= 1n << BigInt(index);
  }
  const first = { state: model.initial, done: 0n, operation: -1, before: undefined, depth: 0 };
  const stack: Step<State>[] = [first];
  const seen = new Set<string>();
  let deepest: Step<State> = first;
  for (let steps = 0; stack.length > 0; steps++) {
    if (steps > stepsMax) return { kind: "undecided" };
    const here = stack.pop() as Step<State>;
    if ((here.done & mustHappen) === mustHappen) {
      return { kind: "linearizable", order: orderOf(here, sorted) };
    }
    if (here.depth > deepest.depth) deepest = here;
    const next: Step<State>[] = [];
    for (const operation of candidates(sorted, here.done)) {
      const done = here.done | (1n << BigInt(operation));
      for (const state of model.step(here.state, sorted[operation] as Op)) {
        const key = `${done.toString(36)} ${model.stateKey(state)}`;
        if (seen.has(key)) continue;
        seen.add(key);
        next.push({ state, done, operation, before: here, depth: here.depth + 1 });
      }
    }
    // Those that returned first are tried first: most histories are nearly in that order.
    const returned = (step: Step<State>) => (sorted[step.operation] as Op).returnedAt;
    next.sort((a, b) => returned(b) - returned(a));
    stack.push(...next);
  }
  return {
    kind: "impossible",
    order: orderOf(deepest, sorted),
    state: deepest.state,
    stuck: candidates(sorted, deepest.done).map((index) => sorted[index] as Op),
  };
}

/** What may come next: called before the first return of all that is left. */
function candidates(sorted: readonly TimedOperation[], done: bigint): number[] {
  let firstReturn = Number.POSITIVE_INFINITY;
  const open: number[] = [];
  for (const [index, operation] of sorted.entries()) {
    if ((done >> BigInt(index)) & 1n) continue;
    if (operation.invokedAt > firstReturn) break;
    open.push(index);
    firstReturn = Math.min(firstReturn, operation.returnedAt);
  }
  return open.filter((index) => (sorted[index] as TimedOperation).invokedAt <= firstReturn);
}

function orderOf<State, Op>(last: Step<State>, sorted: readonly Op[]): Op[] {
  const order: Op[] = [];
  for (let step: Step<State> | undefined = last; step !== undefined; step = step.before) {
    if (step.operation >= 0) order.unshift(sorted[step.operation] as Op);
  }
  return order;
}
