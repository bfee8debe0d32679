import { systemClock } from "@kcp-ts/machinery/base";

/** Lets the event loop turn: for work that is cut into pieces so that others get theirs done in between. */
export function otherWork(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Milliseconds after which work that is cut into pieces lets others have their turn; the last piece may take it further. */
const turnMs = 5;

/** Does all pieces, a few milliseconds' worth in each turn of the event loop. */
export async function inPieces<Result>(work: Generator<void, Result, void>): Promise<Result> {
  for (;;) {
    await otherWork();
    const endsAt = systemClock.monotonic() + turnMs;
    do {
      const { done, value } = work.next();
      if (done === true) return value;
    } while (systemClock.monotonic() < endsAt);
  }
}
