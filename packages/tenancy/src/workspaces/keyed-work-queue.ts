/**
 * A work queue by key: each key runs at most once at a time, with limited concurrency; failures are
 * retried with backoff. One timer serves all delayed items.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";

export interface KeyedWorkQueueOptions<Key extends string> {
  readonly clock: Clock;
  /** Returns the milliseconds until the next run, or undefined when the item is done. */
  readonly work: (key: Key) => Promise<number | undefined>;
  readonly onError: (error: unknown) => void;
  readonly concurrency?: number;
}

const concurrencyDefault = 32;
const tickMs = 100;
const retryMinMs = 100;
const retryMaxMs = 60_000;

interface Waiting {
  readonly dueAt: number;
  readonly failures: number;
}

export class KeyedWorkQueue<Key extends string> {
  readonly #options: KeyedWorkQueueOptions<Key>;
  readonly #queued = new Set<Key>();
  readonly #running = new Map<Key, Promise<void>>();
  /** Keys that were requeued while they were running. */
  readonly #dirty = new Set<Key>();
  readonly #waiting = new Map<Key, Waiting>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: KeyedWorkQueueOptions<Key>) {
    this.#options = options;
  }

  get size(): number {
    return this.#queued.size + this.#running.size + this.#waiting.size;
  }

  add(key: Key): void {
    if (this.#isStopped) return;
    if (this.#running.has(key)) this.#dirty.add(key);
    else this.#queued.add(key);
    this.#next();
  }

  addAfter(key: Key, delayMs: number, failures = 0): void {
    if (this.#isStopped) return;
    this.#waiting.set(key, { dueAt: this.#options.clock.monotonic() + delayMs, failures });
    this.#tick();
  }

  /** Drops a delayed item. */
  remove(key: Key): void {
    this.#waiting.delete(key);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#queued.clear();
    this.#waiting.clear();
    await Promise.all(this.#running.values());
  }

  #next(): void {
    const { concurrency = concurrencyDefault } = this.#options;
    while (this.#running.size < concurrency) {
      const [key] = this.#queued;
      if (key === undefined) return;
      this.#queued.delete(key);
      this.#running.set(key, this.#run(key));
    }
  }

  async #run(key: Key): Promise<void> {
    const failures = this.#waiting.get(key)?.failures ?? 0;
    this.#waiting.delete(key);
    // Items that are added in one turn begin together in the next microtask.
    await Promise.resolve();
    try {
      const delayMs = await this.#options.work(key);
      if (delayMs !== undefined) this.addAfter(key, delayMs);
    } catch (error) {
      if (!this.#isStopped) this.#options.onError(error);
      const delayMs = Math.min(retryMaxMs, retryMinMs * 2 ** failures);
      this.addAfter(key, delayMs, failures + 1);
    }
    this.#running.delete(key);
    if (this.#dirty.delete(key)) this.add(key);
    else this.#next();
  }

  #tick(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0 || this.#isStopped) return;
    this.#timer = this.#options.clock.schedule(tickMs, () => {
      this.#timer = undefined;
      const now = this.#options.clock.monotonic();
      for (const [key, { dueAt }] of this.#waiting)
        if (dueAt <= now && !this.#running.has(key)) this.#queued.add(key);
      this.#next();
      this.#tick();
    });
  }
}
