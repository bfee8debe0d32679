/** Whether an agent's tunnel is up, as the agent sees it: who has one is known to be there by its pings, who has none says so by heartbeats. */

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

  /** Returns what ends it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
