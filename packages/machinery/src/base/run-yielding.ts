/** Does work that is cut into pieces, a turn's worth at a time: others get theirs done in between. */
import { systemClock } from "./clock.ts";
import type { Pieces } from "./pieces.ts";

/** Milliseconds after which the event loop turns; the last piece may take it further. */
const turnMs = 1;

/** Browsers have no setImmediate, and turn soon enough by a timer. */
const nextTurn: (resume: () => void) => unknown =
  (globalThis as { setImmediate?: (resume: () => void) => unknown }).setImmediate ??
  ((resume) => systemClock.schedule(0, resume));

export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => nextTurn(resolve));
}

/** Begins in this turn: work that is nearly always small is done without waiting. A promise only if it was not the last piece. */
export function runYielding<Result>(work: Pieces<Result>): Result | Promise<Result> {
  const done = oneTurnOf(work);
  return done === undefined ? runRest(work) : done.value;
}

async function runRest<Result>(work: Pieces<Result>): Promise<Result> {
  for (;;) {
    await yieldToEventLoop();
    const done = oneTurnOf(work);
    if (done !== undefined) return done.value;
  }
}

/** A turn's worth of pieces; what came out, if they were the last. */
function oneTurnOf<Result>(work: Pieces<Result>): { readonly value: Result } | undefined {
  const endsAt = systemClock.monotonic() + turnMs;
  do {
    const { done, value } = work.next();
    if (done === true) return { value };
  } while (systemClock.monotonic() < endsAt);
  return undefined;
}
