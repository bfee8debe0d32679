import { type Pieces, systemClock } from "@kcp-ts/machinery/base";
import type { MaybePromise } from "./api-request.ts";

/** Lets the event loop turn: for work that is cut into pieces so that others get theirs done in between. */
export function otherWork(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Milliseconds after which work that is cut into pieces lets others have their turn; the last piece may take it further. */
const turnMs = 1;

/** Does all pieces, a few milliseconds' worth in each turn of the event loop. */
export async function inPieces<Result>(work: Pieces<Result>): Promise<Result> {
  for (;;) {
    await otherWork();
    const done = someOf(work);
    if (done !== undefined) return done.value;
  }
}

/** The same, begun in this turn: work that is nearly always small is done at once. */
export function promptly<Result>(work: Pieces<Result>): MaybePromise<Result> {
  const done = someOf(work);
  return done === undefined ? inPieces(work) : done.value;
}

/** A turn's worth of pieces; what came out, if they were the last. */
function someOf<Result>(work: Pieces<Result>): { readonly value: Result } | undefined {
  const endsAt = systemClock.monotonic() + turnMs;
  do {
    const { done, value } = work.next();
    if (done === true) return { value };
  } while (systemClock.monotonic() < endsAt);
  return undefined;
}
