/**
 * What an evaluation does besides what Kubernetes prices: elements visited, characters read, memory filled.
 *
 * Kubernetes prices `size`, deep equality, `format` and many others by a number, whatever they are given. Views of data and the
 * functions of values/ know no evaluation, so the one that runs is found here. Evaluations are synchronous: there is one at a time,
 * and one inside of another (a policy's variable) puts the outer one back.
 */
export interface StepCounter {
  /** Counts work, some ten nanoseconds each; throws when there was too much of it. */
  step(count: number): void;
}

let current: StepCounter | undefined;

/** Runs an evaluation whose work `counter` counts. */
export function counted<Result>(counter: StepCounter, run: () => Result): Result {
  const outer = current;
  current = counter;
  try {
    return run();
  } finally {
    current = outer;
  }
}

export function work(count: number): void {
  if (count > 0) current?.step(count);
}

/** Characters (or bytes) that are read or written in the time of one step. */
const CHARACTERS_PER_STEP = 32;

/** Of reading or writing a text `times` times. */
export function textWork(length: number, times = 1): void {
  work(Math.floor((length * times) / CHARACTERS_PER_STEP));
}
