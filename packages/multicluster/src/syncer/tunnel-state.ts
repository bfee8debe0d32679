/**
 * Whether an agent's tunnel is up, as the agent sees it: pings through the tunnel show that an
 * agent is alive; an agent without a tunnel renews its Lease often.
 */

export class TunnelState {
  readonly #listeners = new Set<() => void>();
  #isUp = false;

  get isUp(): boolean {
    return this.#isUp;
  }

  set(isUp: boolean): void {
    if (this.#isUp === isUp) return;
    this.#isUp = isUp;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Returns the function that unsubscribes. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
