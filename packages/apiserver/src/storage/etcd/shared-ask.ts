/**
 * Many callers, one question at a time: a caller gets the answer to an ask that started after its call.
 *
 * Callers that come while an ask is under way share the next one. A caller that gives up does not disturb the others.
 */
export class SingleFlight<Answer> {
  readonly #ask: () => Promise<Answer>;
  #running: Promise<unknown> | undefined;
  #next: Promise<Answer> | undefined;

  constructor(ask: () => Promise<Answer>) {
    this.#ask = ask;
  }

  answer(signal: AbortSignal): Promise<Answer> {
    this.#next ??= this.#startNext();
    return abortable(this.#next, signal);
  }

  async #startNext(): Promise<Answer> {
    // Also without an ask under way, everybody who calls in this turn shares the new one.
    await this.#running?.catch(() => undefined);
    this.#next = undefined;
    const running = this.#ask();
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
