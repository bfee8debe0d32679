/**
 * Many listeners on one signal, for the price of one.
 *
 * One signal often stops a hundred informers or a thousand requests. Listeners of an EventTarget cost microseconds each, are removed by a walk
 * through all of them, and make Node warn of a leak from the eleventh on; these are members of a set.
 */
const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>();
const nothing = () => {};

/** Calls back once when the signal aborts, or at once if it has. Returns what ends the listening. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return nothing;
  if (signal.aborted) {
    callback();
    return nothing;
  }
  const callbacks = callbacksOf.get(signal) ?? listen(signal);
  const own = () => callback();
  callbacks.add(own);
  return () => void callbacks.delete(own);
}

export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    onAbort(signal, resolve);
  });
}

function listen(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  callbacksOf.set(signal, callbacks);
  const callAll = () => {
    for (const callback of callbacks) callback();
    callbacks.clear();
  };
  signal.addEventListener("abort", callAll, { once: true });
  return callbacks;
}
