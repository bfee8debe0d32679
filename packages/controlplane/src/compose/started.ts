/** What was started, and how each of it ends: closing goes the way of starting backwards, for a stop as for a start that fails half-way. */

/** `stop`: who is served is served to the end. `failure`: nobody is served yet. */
export type Ending = "stop" | "failure";

export type Close = (ending: Ending) => Promise<void> | void;

export class Started {
  readonly #closes: Close[] = [];
  #closed: Promise<void> | undefined;

  /** Said when the thing has been started: it ends before all that was started before it. */
  endsBy(close: Close): void {
    this.#closes.push(close);
  }

  /** Idempotent. All of it is closed, also when some of it fails to; the first failure is told. */
  close(ending: Ending): Promise<void> {
    this.#closed ??= this.#close(ending);
    return this.#closed;
  }

  async #close(ending: Ending): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closes.reverse()) {
      try {
        await close(ending);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
