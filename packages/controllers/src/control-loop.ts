/** A component of the control plane that runs until its signal aborts. */
export interface ControlLoop {
  /**
   * Runs until the signal aborts, and resolves when the work in flight is finished. Call it once.
   */
  run(signal: AbortSignal): Promise<void>;
}
