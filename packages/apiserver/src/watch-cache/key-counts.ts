/**
 * The number of objects under prefixes that are listed in pages: counted in the store once, and
 * followed by the hub's events from then on, so that a page of a million objects does not count
 * them.
 */
import { type Clock, neverAborted } from "@kcp-ts/machinery/base";
import type { Storage, StorageKey } from "../storage/index.ts";
import type { WatchHub } from "./watch-hub.ts";

export interface KeyCountsOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
}

interface KeyCount {
  /** Undefined while the keys are counted. */
  counted: number | undefined;
  /** Creates minus deletes since the count. */
  change: number;
  usedAt: number;
  stop: () => void;
}

const prefixesMax = 1000;
/** Counting a million keys takes about a second, and following them costs nothing. */
const idleMs = 600_000;

export class KeyCounts {
  readonly #options: KeyCountsOptions;
  /** In order of last use, oldest first. */
  readonly #counts = new Map<StorageKey, KeyCount>();
  readonly #counting = new Map<StorageKey, Promise<void>>();

  constructor(options: KeyCountsOptions) {
    this.#options = options;
  }

  /** The number of objects under a prefix at the hub's revision, if they are counted. */
  peek(prefix: StorageKey): number | undefined {
    const found = this.#counts.get(prefix);
    return found?.counted === undefined ? undefined : found.counted + found.change;
  }

  /** Counts the objects under a prefix unless they are counted; `peek` has the result. */
  async track(prefix: StorageKey, signal: AbortSignal): Promise<void> {
    const found = this.#counts.get(prefix);
    if (found?.counted !== undefined) {
      found.usedAt = this.#options.clock.monotonic();
      this.#counts.delete(prefix);
      this.#counts.set(prefix, found);
      return;
    }
    let counting = this.#counting.get(prefix);
    if (counting === undefined) {
      counting = this.#count(prefix).finally(() => this.#counting.delete(prefix));
      this.#counting.set(prefix, counting);
    }
    await counting;
    signal.throwIfAborted();
  }

  /** Forgets counts that were not used lately. Called by the owner's one timer. */
  sweep(): void {
    const before = this.#options.clock.monotonic() - idleMs;
    for (const [prefix, { usedAt }] of this.#counts) if (usedAt < before) this.#drop(prefix);
  }

  get size(): number {
    return this.#counts.size;
  }

  async #count(prefix: StorageKey): Promise<void> {
    const { storage, hub, clock } = this.#options;
    const count: KeyCount = {
      counted: undefined,
      change: 0,
      usedAt: clock.monotonic(),
      stop: () => {},
    };
    const atRevision = hub.revision;
    count.stop = hub.listen(prefix, {
      onEvent: ({ current, previous }) => {
        if (current === undefined) count.change--;
        else if (previous === undefined) count.change++;
      },
      onLost: () => this.#drop(prefix),
    });
    this.#counts.set(prefix, count);
    try {
      count.counted = await storage.count(prefix, { signal: neverAborted, atRevision });
    } finally {
      if (count.counted === undefined) this.#drop(prefix);
    }
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > prefixesMax && oldest !== undefined) this.#drop(oldest);
  }

  #drop(prefix: StorageKey): void {
    this.#counts.get(prefix)?.stop();
    this.#counts.delete(prefix);
  }
}
