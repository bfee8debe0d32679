/**
 * What an evaluation does besides what Kubernetes prices: elements visited, characters read, memory filled.
 *
 * Kubernetes prices `size`, deep equality, `format` and many others by a number, whatever they are given. Views of data and the
 * functions of values/ know no evaluation, so the one that runs is found here. There is one at a time: one that rests is none, and
 * one inside of another (a policy's variable) puts the outer one back.
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
export function withStepCounter<Result>(counter: StepCounter, run: () => Result): Result {
  const outer = current;
  current = counter;
  try {
    return run();
  } finally {
    current = outer;
  }
}

/** The same of an evaluation that rests. */
export function* countedInPieces<Result>(
  counter: StepCounter,
  evaluation: Resumable<Result>,
): Resumable<Result> {
  for (;;) {
    const { done, value } = withStepCounter(counter, () => evaluation.next());
    if (done === true) return value;
    yield;
  }
}

/** The evaluation that runs. */
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
