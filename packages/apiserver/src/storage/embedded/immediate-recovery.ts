/** For tests: a store that recovers without delays, and helpers that wait for it. */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { isStorageError } from "../errors.ts";

/** Sleeps take no time: recovery retries in the next turn. */
export const immediateClock: Clock = {
  now: systemClock.now,
  monotonic: systemClock.monotonic,
  schedule(_delayMs, callback) {
    const handle = setImmediate(callback);
    return { cancel: () => clearImmediate(handle) };
  },
};

/** Retries while the store is unavailable. */
export async function untilAvailable<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!isStorageError(error, "unavailable")) throw error;
      await nextIteration();
    }
  }
}

export function nextIteration(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
