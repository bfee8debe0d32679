/**
 * Counts the work of an evaluation beyond Kubernetes' costs: elements visited, characters read,
 * memory filled.
 *
 * Kubernetes charges a constant for `size`, deep equality, `format` and many others, whatever their
 * arguments. Views of data and the functions of values/ do not know the evaluation, so the running
 * one is stored here. There is one at a time: a yielded evaluation is not running, and a nested one
 * (a policy's variable) restores the outer one.
 */
import type { Resumable } from "../../base/index.ts";

export interface StepCounter {
  /** Counts work, some ten nanoseconds each; throws when there was too much of it. */
  step(count: number): void;
  /** Keys of objects that were listed in this evaluation: see `ownKeys`. */
  keys?: WeakMap<object, readonly string[]> | undefined;
}

let current: StepCounter | undefined;

/** Runs an evaluation whose work `counter` counts. */
export function withStepCounter<Counter extends StepCounter, Result>(
  counter: Counter,
  run: (counter: Counter) => Result,
): Result {
  const outer = current;
  current = counter;
  try {
    return run(counter);
  } finally {
    current = outer;
  }
}

/** The same for a resumable evaluation. */
export function* countedResumable<Result>(
  counter: StepCounter,
  evaluation: Resumable<Result>,
): Resumable<Result> {
  for (;;) {
    const { done, value } = withStepCounter(counter, () => evaluation.next());
    if (done === true) return value;
    yield;
  }
}

/** The running evaluation. */
export function currentCounter(): StepCounter | undefined {
  return current;
}

export function chargeSteps(count: number): void {
  if (count > 0) current?.step(count);
}

/** Characters (or bytes) that are read or written in the time of one step. */
const CHARACTERS_PER_STEP = 32;

/** Of reading or writing a text `times` times. */
export function chargeText(length: number, times = 1): void {
  chargeSteps(Math.floor((length * times) / CHARACTERS_PER_STEP));
}
