/**
 * The current policies: they change while a syncer runs, and kinds whose policy changes are
 * restarted.
 */
import type { Policies } from "./policy.ts";

export class PolicySet {
  #policies: Policies;
  readonly #listeners = new Set<() => void>();

  constructor(policies: Policies = {}) {
    this.#policies = policies;
  }

  get current(): Policies {
    return this.#policies;
  }

  set(policies: Policies): void {
    this.#policies = policies;
    for (const listener of this.#listeners) listener();
  }

  /** Returns the function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
