/**
 * Started components and their close functions: they are closed in the reverse order of their
 * start, for a stop as for a start that fails half-way.
 */

/** `stop`: requests in flight are served to their end. `failure`: no request is served yet. */
export type Ending = "stop" | "failure";

export type Close = (ending: Ending) => Promise<void> | void;

export class Started {
  readonly #closes: Close[] = [];
  #closed: Promise<void> | undefined;

  /**
   * Registers a started component: it is closed before all components that were started before it.
   */
  endsBy(close: Close): void {
    this.#closes.push(close);
  }

  /**
   * Idempotent. All components are closed, also when some fail to close; the first failure is
   * thrown.
   */
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
