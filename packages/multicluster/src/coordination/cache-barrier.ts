/**
 * The barrier before every decision: the caches of all kinds must be complete. A cache that is
 * filled later than another looks like free capacity, so that a cluster would get more than its
 * limits permit, and keep it.
 */
export class CacheBarrier {
  readonly #filling = new Set<Promise<void>>();

  /** Every decision waits for this cache, also decisions about other kinds. */
  add(filled: Promise<void> | undefined): void {
    if (filled === undefined) return;
    this.#filling.add(filled);
    const done = () => void this.#filling.delete(filled);
    filled.then(done, done);
  }

  /** Resolves when all caches are complete, including caches that are added meanwhile. */
  async complete(): Promise<void> {
    while (this.#filling.size > 0) await Promise.allSettled(this.#filling);
  }
}
