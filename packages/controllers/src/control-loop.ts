/** A part of the control plane that works until it is told to stop. */
export interface ControlLoop {
  /** Works until the signal aborts, and resolves when what was under way is finished. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}
