/**
 * Work that can be cut, and the ways to run it: a generator that rests between pieces none of which
 * takes long, and returns what came out. One thread serves everybody, so work that may take long is
 * run a millisecond at a time, and other requests get theirs done in between.
 */
import { systemClock } from "./clock.ts";
import { Turns } from "./turns.ts";

export type Resumable<Result> = Generator<void, Result, void>;

/** A result, or work that it comes out of. */
export type MaybeResumable<Result extends object> = Result | Resumable<Result>;

export function isResumable<Result extends object>(
  work: MaybeResumable<Result>,
): work is Resumable<Result> {
  return Symbol.iterator in work && "next" in work;
}

/** Says when a walk over many small things has done enough for one piece: `if (pace.isTime()) yield;`. */
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

/** Milliseconds after which one work lets others have theirs; the last piece may take it further. */
const shareMs = 1;
/** Work that took less is not worth a note. */
const notedMs = 0.2;

/** Browsers have no setImmediate, and turn soon enough by a timer. */
const nextTurn: (callback: () => void) => unknown =
  (globalThis as { setImmediate?: (callback: () => void) => unknown }).setImmediate ??
  ((callback) => systemClock.schedule(0, callback));

const turns = new Turns({ monotonic: () => systemClock.monotonic(), nextTurn });

/** Resolves in a later turn of the event loop that has room for resumable work. */
export function yieldToEventLoop(): Promise<void> {
  return turns.wait();
}

/** Whether resumable work waits for a turn: how many turns it takes depends on the machine. */
export function isResumableWorkWaiting(): boolean {
  return turns.isWaitedFor;
}

/** Runs all pieces one after the other, without a rest. */
export function runSync<Result>(work: Resumable<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/**
 * Begins in this turn, unless other work has had it: work that is nearly always small needs no
 * promise.
 */
export function runSyncFirst<Result>(work: Resumable<Result>): Result | Promise<Result> {
  const now = systemClock.monotonic();
  const done = turns.isOver(now) ? undefined : runTurn(work, now);
  return done === undefined ? runYielding(work) : done.value;
}

/** Runs a turn's worth in each turn of the event loop, and none in this one. */
export async function runYielding<Result>(work: Resumable<Result>): Promise<Result> {
  for (;;) {
    await yieldToEventLoop();
    const done = runTurn(work, systemClock.monotonic());
    if (done !== undefined) return done.value;
  }
}

/** Runs a turn's worth of pieces; says what came out, if they were the last. */
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
