/**
 * Many listeners on one signal, for the price of one.
 *
 * One signal often stops a hundred informers or a thousand requests. Listeners of an EventTarget
 * cost microseconds each, are removed by a linear search, and make Node warn of a leak from the
 * eleventh on; these listeners are slots in a list.
 */
import { SlotSet } from "./slot-set.ts";

/**
 * A member of the signal and not of a WeakMap: a value there that refers to its key keeps both
 * until a full garbage collection.
 */
const callbacksOf = Symbol("callbacks");

interface Listened {
  [callbacksOf]?: SlotSet<() => void>;
}

const nothing = () => {};

/**
 * Calls back once when the signal aborts, or at once if it already has. Returns a function that
 * unsubscribes.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return nothing;
  if (signal.aborted) {
    callback();
    return nothing;
  }
  const callbacks = (signal as Listened)[callbacksOf] ?? listen(signal);
  return callbacks.add(callback);
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    onAbort(signal, resolve);
  });
}

function listen(signal: AbortSignal): SlotSet<() => void> {
  const callbacks = new SlotSet<() => void>();
  (signal as Listened)[callbacksOf] = callbacks;
  const callAll = () => {
    for (let next = callbacks.shift(); next !== undefined; next = callbacks.shift()) next();
  };
  signal.addEventListener("abort", callAll, { once: true });
  return callbacks;
}
