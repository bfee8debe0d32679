/**
 * Time is injected through constructors, so that a test can move it.
 *
 * `Date.now`, `setTimeout` and similar functions are banned outside of this folder (checked by
 * tools/tidy.test.ts).
 */
import { onAbort } from "./on-abort.ts";

export interface Clock {
  /** Milliseconds since the epoch, by the wall clock. */
  now(): number;

  /** Milliseconds of a monotonic clock; only differences have a meaning. */
  monotonic(): number;

  /** Calls `callback` once, no earlier than `delayMs` from now. */
  schedule(delayMs: number, callback: () => void): Timer;
}

export interface Timer {
  cancel(): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(delayMs, callback) {
    let leftMs = delayMs;
    let handle: ReturnType<typeof setTimeout>;
    const wait = () => {
      const stepMs = Math.min(leftMs, timeoutMsMax);
      leftMs -= stepMs;
      handle = setTimeout(leftMs > 0 ? wait : callback, stepMs);
    };
    wait();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** For longer delays Node fires at once: a timer of a year would fire again and again. */
const timeoutMsMax = 2 ** 31 - 1;

/** Resolves after `delayMs`; rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = clock.schedule(delayMs, () => {
      stopListening();
      resolve();
    });
    const stopListening = onAbort(signal, () => {
      timer.cancel();
      reject(signal?.reason);
    });
  });
}
