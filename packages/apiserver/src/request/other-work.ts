/** Work that is cut into pieces, as this package calls it: see `runYielding` of machinery. */
import { type Pieces, runYielding, yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { MaybePromise } from "./api-request.ts";

/** Lets the event loop turn: for work that is cut into pieces so that others get theirs done in between. */
export function otherWork(): Promise<void> {
  return yieldToEventLoop();
}

/** Does all pieces, a few milliseconds' worth in each turn of the event loop, and none in this one. */
export async function inPieces<Result>(work: Pieces<Result>): Promise<Result> {
  await yieldToEventLoop();
  return runYielding(work);
}

/** The same, begun in this turn: work that is nearly always small is done at once. */
export function promptly<Result>(work: Pieces<Result>): MaybePromise<Result> {
  return runYielding(work);
}
