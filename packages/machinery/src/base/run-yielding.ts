/** Does work that is cut into pieces, a turn's worth at a time: others get theirs done in between. */
import { systemClock } from "./clock.ts";
import type { Pieces } from "./pieces.ts";
import { Turns } from "./turns.ts";

/** Milliseconds after which one work lets others have theirs; the last piece may take it further. */
const shareMs = 1;
/** Work that took less is not worth a note. */
const notedMs = 0.2;

/** Browsers have no setImmediate, and turn soon enough by a timer. */
const nextTurn: (callback: () => void) => unknown =
  (globalThis as { setImmediate?: (callback: () => void) => unknown }).setImmediate ??
  ((callback) => systemClock.schedule(0, callback));

const turns = new Turns({ monotonic: () => systemClock.monotonic(), nextTurn });

export function yieldToEventLoop(): Promise<void> {
  return turns.wait();
}

/**
 * Begins in this turn, unless others have had it: work that is nearly always small is done without waiting. A promise only if that was not
 * all of it.
 */
export function runYielding<Result>(work: Pieces<Result>): Result | Promise<Result> {
  const now = systemClock.monotonic();
  const done = turns.isOver(now) ? undefined : oneTurnOf(work, now);
  return done === undefined ? runRest(work) : done.value;
}

async function runRest<Result>(work: Pieces<Result>): Promise<Result> {
  for (;;) {
    await yieldToEventLoop();
    const done = oneTurnOf(work, systemClock.monotonic());
    if (done !== undefined) return done.value;
  }
}

/** A turn's worth of pieces; what came out, if they were the last. */
function oneTurnOf<Result>(
  work: Pieces<Result>,
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
