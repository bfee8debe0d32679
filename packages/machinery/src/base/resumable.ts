/**
 * Work that can be cut, and the ways to run it: a generator that rests between pieces none of which
 * takes long, and returns what came out. One thread serves everybody, so work that may take long is
 * run some milliseconds in a turn of the event loop, and other requests get theirs done in between.
 */
import { systemClock } from "./clock.ts";

export type Resumable<Result> = Generator<void, Result, void>;

/** Says when a walk over many small things has done enough for one piece: `if (pace.isTime()) yield;`. */
export class Pace {
  readonly #each: number;
  #left: number;

  constructor(each: number) {
    this.#each = each;
    this.#left = each;
  }

  isTime(): boolean {
    if (--this.#left > 0) return false;
    this.#left = this.#each;
    return true;
  }
}

/** Milliseconds after which the event loop turns; the last piece may take it further. */
const turnMs = 1;

/** Browsers have no setImmediate, and turn soon enough by a timer. */
const nextTurn: (resume: () => void) => unknown =
  (globalThis as { setImmediate?: (resume: () => void) => unknown }).setImmediate ??
  ((resume) => systemClock.schedule(0, resume));

/** Lets the event loop turn once. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => nextTurn(resolve));
}

/** Runs all pieces one after the other, without a rest. */
export function runSync<Result>(work: Resumable<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Runs the first turn's worth now: work that is nearly always small needs no promise. */
export function runSyncFirst<Result>(work: Resumable<Result>): Result | Promise<Result> {
  const done = runTurn(work);
  return done === undefined ? runYielding(work) : done.value;
}

/** Runs a turn's worth in each turn of the event loop, and none in this one. */
export async function runYielding<Result>(work: Resumable<Result>): Promise<Result> {
  for (;;) {
    await yieldToEventLoop();
    const done = runTurn(work);
    if (done !== undefined) return done.value;
  }
}

/** Runs a turn's worth of pieces; says what came out, if they were the last. */
function runTurn<Result>(work: Resumable<Result>): { readonly value: Result } | undefined {
  const endsAt = systemClock.monotonic() + turnMs;
  do {
    const { done, value } = work.next();
    if (done === true) return { value };
  } while (systemClock.monotonic() < endsAt);
  return undefined;
}
