/** For tests: a store that recovers without waiting, and those who wait for it. */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { isStorageError } from "../errors.ts";

/** Waits never last: recovery tries again in the next turn. */
export const immediateClock: Clock = {
  now: systemClock.now,
  monotonic: systemClock.monotonic,
  schedule(_delayMs, callback) {
    const handle = setImmediate(callback);
    return { cancel: () => clearImmediate(handle) };
  },
};

/** Tries again as long as the store is unavailable. */
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
