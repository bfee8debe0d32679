/**
 * Merges concurrent calls into one operation at a time: a caller gets the result of an operation
 * that started after its call.
 *
 * Callers during an operation share the next one. A caller that cancels does not disturb the
 * others.
 */
export class SingleFlight<Answer> {
  readonly #call: () => Promise<Answer>;
  #running: Promise<unknown> | undefined;
  #next: Promise<Answer> | undefined;

  constructor(ask: () => Promise<Answer>) {
    this.#call = ask;
  }

  run(signal: AbortSignal): Promise<Answer> {
    this.#next ??= this.#startNext();
    return abortable(this.#next, signal);
  }

  async #startNext(): Promise<Answer> {
    // Also without an operation in flight, all callers of this turn share the new one.
    await this.#running?.catch(() => undefined);
    this.#next = undefined;
    const running = this.#call();
    this.#running = running;
    try {
      return await running;
    } finally {
      if (this.#running === running) this.#running = undefined;
    }
  }
}

function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.finally(() => signal.removeEventListener("abort", onAbort)).then(resolve, reject);
  });
}
