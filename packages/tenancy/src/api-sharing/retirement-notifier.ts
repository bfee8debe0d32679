/** Notifies the users of a definition when the definition is retired. */
export class RetirementNotifier {
  #callbacks: Set<() => void> | undefined;
  #isOver = false;

  /**
   * Calls back at once when the definition is retired already. Returns a function that stops
   * listening.
   */
  readonly onRetired = (callback: () => void): (() => void) => {
    if (this.#isOver) {
      callback();
      return () => {};
    }
    this.#callbacks ??= new Set();
    const callbacks = this.#callbacks;
    callbacks.add(callback);
    return () => callbacks.delete(callback);
  };

  retire(): void {
    this.#isOver = true;
    const callbacks = [...(this.#callbacks ?? [])];
    this.#callbacks = undefined;
    for (const callback of callbacks) callback();
  }
}
