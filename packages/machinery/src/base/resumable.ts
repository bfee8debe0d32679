/**
 * Resumable work, and the ways to run it: a generator that yields between short steps, and returns
 * the result. One thread serves all requests, so long work runs a millisecond at a time, and other
 * requests proceed in between.
 */
import { systemClock } from "./clock.ts";
import { Turns } from "./turns.ts";

export type Resumable<Result> = Generator<void, Result, void>;

/** A result, or the resumable work that computes it. */
export type MaybeResumable<Result extends object> = Result | Resumable<Result>;

export function isResumable<Result extends object>(
  work: MaybeResumable<Result>,
): work is Resumable<Result> {
  return Symbol.iterator in work && "next" in work;
}

/**
 * Decides when a loop over many small items has done enough for one step: `if (pace.isTime())
 * yield;`.
 */
export class YieldCounter {
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

/** Milliseconds after which a task yields to the event loop; its last step may exceed them. */
const shareMs = 1;
/** Shorter work is not reported. */
const notedMs = 0.2;

/** Browsers have no setImmediate; a timer is fast enough there. */
const nextTurn: (callback: () => void) => unknown =
  (globalThis as { setImmediate?: (callback: () => void) => unknown }).setImmediate ??
  ((callback) => systemClock.schedule(0, callback));

const turns = new Turns({ monotonic: () => systemClock.monotonic(), nextTurn });

/** Resolves in a later turn of the event loop that has time left for resumable work. */
export function yieldToEventLoop(): Promise<void> {
  return turns.wait();
}

/** Whether resumable work waits for a turn: the number of turns depends on the machine. */
export function isResumableWorkWaiting(): boolean {
  return turns.isWaitedFor;
}

/**
 * For a loop whose steps are promises: those of a source that always has more would all run in one
 * turn of the event loop.
 */
export class LoopPace {
  #startedAt = systemClock.monotonic();

  /** A promise when the loop has used its time slice. */
  yieldIfDue(): Promise<void> | undefined {
    if (systemClock.monotonic() - this.#startedAt < shareMs) return undefined;
    return yieldToEventLoop().then(() => {
      this.#startedAt = systemClock.monotonic();
    });
  }
}

/** Runs all steps synchronously, without yielding. */
export function runSync<Result>(work: Resumable<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/**
 * Begins in this turn, unless other tasks have used it up: work that is nearly always small needs
 * no promise.
 */
export function runSyncFirst<Result>(work: Resumable<Result>): Result | Promise<Result> {
  const done = runInTurn(work);
  return done === undefined ? runYielding(work) : done.value;
}

/**
 * Runs a time slice of steps in this turn, unless other tasks have used it up; returns the result,
 * if they were the last.
 */
export function runInTurn<Result>(work: Resumable<Result>): { readonly value: Result } | undefined {
  const now = systemClock.monotonic();
  return turns.isOver(now) ? undefined : runTurn(work, now);
}

/** Runs for a time slice in each turn of the event loop, and not at all in this one. */
export async function runYielding<Result>(work: Resumable<Result>): Promise<Result> {
  for (;;) {
    await yieldToEventLoop();
    const done = runTurn(work, systemClock.monotonic());
    if (done !== undefined) return done.value;
  }
}

/** Runs one time slice of steps; returns the result, if they were the last. */
function runTurn<Result>(
  work: Resumable<Result>,
  startedAt: number,
): { readonly value: Result } | undefined {
  let tookMs: number;
  let next: IteratorResult<void, Result>;
  do {
    next = work.next();
    tookMs = systemClock.monotonic() - startedAt;
  } while (next.done !== true && tookMs < shareMs);
  if (tookMs > notedMs) turns.noteWork(startedAt);
  return next.done === true ? { value: next.value } : undefined;
}
