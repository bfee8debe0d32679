/** Who wants to know that a definition is no longer the one to use. */
export class RetirementNotifier {
  #callbacks: Set<() => void> | undefined;
  #isOver = false;

  /** Calls back at once when it is so already. Returns how to stop listening. */
  readonly on = (callback: () => void): (() => void) => {
    if (this.#isOver) {
      callback();
      return () => {};
    }
    this.#callbacks ??= new Set();
    const callbacks = this.#callbacks;
    callbacks.add(callback);
    return () => callbacks.delete(callback);
  };

  end(): void {
    this.#isOver = true;
    const callbacks = [...(this.#callbacks ?? [])];
    this.#callbacks = undefined;
    for (const callback of callbacks) callback();
  }
}
