/**
 * WorkQueue: keys that need work, each queued at most once, none processed concurrently with
 * itself.
 *
 * A key that is added while it is being processed is queued once more afterwards, however often it
 * was added. Keys have priorities, and flows that take turns. Delays and retries are part of it.
 */
import { assert, type Clock, systemClock } from "@kcp-ts/machinery/base";
import { type MetricsRegistry, processMetrics } from "../metrics/index.ts";
import { DelayedItems } from "./delayed-items.ts";
import { type QueueMetrics, queueMetrics } from "./queue-metrics.ts";
import { defaultRateLimiter, type RateLimiter } from "./rate-limiter.ts";
import { ReadyList, type Slot } from "./ready-list.ts";

export interface WorkQueueOptions<Item> {
  /** The queue's name in metrics. */
  readonly name: string;
  /** Items with the same key are the same work. */
  readonly keyOf: (item: Item) => string;
  /** Items of different flows take turns; without it there is one flow. */
  readonly flowOf?: ((item: Item) => string) | undefined;
  readonly rateLimiter?: RateLimiter | undefined;
  readonly metrics?: MetricsRegistry | undefined;
  readonly clock?: Clock | undefined;
}

export interface AddOptions {
  /** Higher priorities come first; 0 is normal. */
  readonly priority?: number | undefined;
}

interface Entry<Item> {
  readonly key: string;
  readonly item: Item;
  priority: number;
  addedAtMs: number;
  startedAtMs: number;
  /** Set while the entry is ready and not taken. */
  slot: Slot<Entry<Item>> | undefined;
  /** Added again while it is being processed. */
  again: boolean;
}

export class WorkQueue<Item> {
  readonly #options: WorkQueueOptions<Item>;
  readonly #clock: Clock;
  readonly #limiter: RateLimiter;
  readonly #metrics: QueueMetrics;
  readonly #stopReading: readonly (() => void)[];
  readonly #entries = new Map<string, Entry<Item>>();
  readonly #ready = new ReadyList<Entry<Item>>();
  readonly #delayed: DelayedItems<Item>;
  readonly #processing = new Set<Entry<Item>>();
  #getters: ((item: Item | undefined) => void)[] = [];
  #idleWaiters: (() => void)[] = [];
  #depth = 0;
  #isShutDown = false;
  #isDispatching = false;

  constructor(options: WorkQueueOptions<Item>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#limiter = options.rateLimiter ?? defaultRateLimiter(this.#clock);
    this.#delayed = new DelayedItems(this.#clock, (item, priority) => this.add(item, { priority }));
    this.#metrics = queueMetrics(options.metrics ?? processMetrics, options.name);
    this.#stopReading = WorkQueue.#readInto(this.#metrics, new WeakRef<WorkQueue<Item>>(this));
  }

  /** Ready and not taken. */
  get depth(): number {
    return this.#depth;
  }

  get processing(): number {
    return this.#processing.size;
  }

  /** The number of delayed items. */
  get delayed(): number {
    return this.#delayed.size;
  }

  add(item: Item, { priority = 0 }: AddOptions = {}): void {
    if (this.#isShutDown) return;
    const key = this.#options.keyOf(item);
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      this.#metrics.adds.increment();
      this.#enqueue({
        key,
        item,
        priority,
        addedAtMs: this.#clock.monotonic(),
        startedAtMs: 0,
        slot: undefined,
        again: false,
      });
    } else if (entry.slot === undefined) {
      if (!entry.again) this.#metrics.adds.increment();
      entry.priority = entry.again ? Math.max(entry.priority, priority) : priority;
      entry.again = true;
    } else if (priority > entry.priority) {
      entry.slot.item = undefined;
      entry.priority = priority;
      entry.slot = this.#ready.push(entry, { priority, flow: this.#flowOf(entry.item) });
    }
  }

  /**
   * Adds the item after the delay. A key that is added in the meantime is processed then, and once
   * more at its time.
   */
  addAfter(item: Item, delayMs: number, { priority = 0 }: AddOptions = {}): void {
    if (this.#isShutDown) return;
    if (delayMs <= 0) this.add(item, { priority });
    else this.#delayed.add(this.#options.keyOf(item), item, { delayMs, priority });
  }

  /** Adds the item after a failure, with the limiter's delay. */
  addRateLimited(item: Item, options: AddOptions = {}): void {
    if (this.#isShutDown) return;
    this.#metrics.retries.increment();
    this.addAfter(item, this.#limiter.delayMs(this.#options.keyOf(item)), options);
  }

  /** Resets the failures of a key. */
  forget(item: Item): void {
    this.#limiter.forget(this.#options.keyOf(item));
  }

  retries(item: Item): number {
    return this.#limiter.retries(this.#options.keyOf(item));
  }

  /**
   * The next item, when there is one; undefined when the queue is shut down. Every item taken must
   * be passed to `done`.
   */
  get(): Promise<Item | undefined> {
    if (this.#isShutDown) return Promise.resolve(undefined);
    const entry = this.#ready.shift();
    if (entry !== undefined) return Promise.resolve(this.#start(entry));
    return new Promise((resolve) => {
      this.#getters.push(resolve);
    });
  }

  done(item: Item): void {
    const key = this.#options.keyOf(item);
    const entry = this.#entries.get(key);
    assert(entry !== undefined && this.#processing.delete(entry), `${key} is not being worked on`);
    this.#metrics.workSeconds.observe((this.#clock.monotonic() - entry.startedAtMs) / 1000);
    if (entry.again && !this.#isShutDown) {
      entry.again = false;
      entry.addedAtMs = this.#clock.monotonic();
      this.#enqueue(entry);
    } else {
      this.#entries.delete(key);
    }
    if (this.#processing.size > 0) return;
    for (const wake of this.#idleWaiters.splice(0)) wake();
  }

  /** Shuts the queue down: it accepts and returns no more items; waiting items are dropped. */
  shutDown(): void {
    this.#isShutDown = true;
    this.#delayed.clear();
    this.#metrics.depth.add(-this.#depth);
    this.#depth = 0;
    for (const stop of this.#stopReading) stop();
    for (const resolve of this.#getters.splice(0)) resolve(undefined);
  }

  /** Resolves when no item is being processed. */
  async idle(): Promise<void> {
    if (this.#processing.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#idleWaiters.push(resolve);
    });
  }

  #enqueue(entry: Entry<Item>): void {
    this.#entries.set(entry.key, entry);
    this.#depth++;
    this.#metrics.depth.add(1);
    const { priority } = entry;
    entry.slot = this.#ready.push(entry, { priority, flow: this.#flowOf(entry.item) });
    if (this.#getters.length === 0 || this.#isDispatching) return;
    this.#isDispatching = true;
    queueMicrotask(() => this.#dispatch());
  }

  /**
   * Runs after the current turn of the event loop: a batch of changes to one key is then one item,
   * and the most urgent key is first.
   */
  #dispatch(): void {
    this.#isDispatching = false;
    while (this.#getters.length > 0) {
      const entry = this.#isShutDown ? undefined : this.#ready.shift();
      if (entry === undefined) return;
      this.#getters.shift()?.(this.#start(entry));
    }
  }

  #start(entry: Entry<Item>): Item {
    entry.slot = undefined;
    entry.startedAtMs = this.#clock.monotonic();
    this.#processing.add(entry);
    this.#depth--;
    this.#metrics.depth.add(-1);
    this.#metrics.queueSeconds.observe((entry.startedAtMs - entry.addedAtMs) / 1000);
    return entry.item;
  }

  #flowOf(item: Item): string {
    return this.#options.flowOf?.(item) ?? "";
  }

  /**
   * A registry outlives its queues, also those that are dropped and never shut down: what it reads
   * must not keep them. So these functions are not made where `this` is.
   */
  static #readInto<Item>(
    { unfinishedSeconds, longestRunningSeconds }: QueueMetrics,
    queue: WeakRef<WorkQueue<Item>>,
  ): readonly (() => void)[] {
    const runningSeconds = () => {
      const one = queue.deref();
      return one === undefined ? [] : one.#runningSeconds();
    };
    return [
      unfinishedSeconds.addReader(() => sum(runningSeconds())),
      longestRunningSeconds.addReader(() => Math.max(0, ...runningSeconds()), Math.max),
    ];
  }

  #runningSeconds(): number[] {
    const nowMs = this.#clock.monotonic();
    return [...this.#processing].map(({ startedAtMs }) => (nowMs - startedAtMs) / 1000);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
