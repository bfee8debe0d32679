/**
 * Delayed items under one timer. An item that is added twice becomes due once, at the earlier time.
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";

interface Waiting<Item> {
  readonly key: string;
  readonly item: Item;
  readonly priority: number;
  readonly dueAtMs: number;
}

export class DelayedItems<Item> {
  readonly #clock: Clock;
  readonly #release: (item: Item, priority: number) => void;
  /** A binary heap by due time; entries that `#byKey` does not point to are stale. */
  readonly #heap: Waiting<Item>[] = [];
  readonly #byKey = new Map<string, Waiting<Item>>();
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, release: (item: Item, priority: number) => void) {
    this.#clock = clock;
    this.#release = release;
  }

  get size(): number {
    return this.#byKey.size;
  }

  add(key: string, item: Item, { delayMs, priority }: { delayMs: number; priority: number }): void {
    const dueAtMs = this.#clock.monotonic() + delayMs;
    const known = this.#byKey.get(key);
    if (known !== undefined && known.dueAtMs <= dueAtMs && known.priority >= priority) return;
    const waiting = {
      key,
      item,
      priority: Math.max(priority, known?.priority ?? priority),
      dueAtMs: Math.min(dueAtMs, known?.dueAtMs ?? dueAtMs),
    };
    this.#byKey.set(key, waiting);
    push(this.#heap, waiting);
    this.#arm();
  }

  clear(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#heap.length = 0;
    this.#byKey.clear();
  }

  #arm(): void {
    const next = this.#heap[0];
    if (next === undefined || next.dueAtMs >= this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = next.dueAtMs;
    const delayMs = Math.max(0, next.dueAtMs - this.#clock.monotonic());
    this.#timer = this.#clock.schedule(delayMs, () => this.#fire());
  }

  #fire(): void {
    this.#timer = undefined;
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    const nowMs = this.#clock.monotonic();
    for (let top = this.#heap[0]; top !== undefined && top.dueAtMs <= nowMs; top = this.#heap[0]) {
      pop(this.#heap);
      if (this.#byKey.get(top.key) !== top) continue;
      this.#byKey.delete(top.key);
      this.#release(top.item, top.priority);
    }
    this.#arm();
  }
}

function push<Item>(heap: Waiting<Item>[], entry: Waiting<Item>): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const parent = (at - 1) >>> 1;
    if ((heap[parent] as Waiting<Item>).dueAtMs <= entry.dueAtMs) break;
    heap[at] = heap[parent] as Waiting<Item>;
    at = parent;
  }
  heap[at] = entry;
}

function pop<Item>(heap: Waiting<Item>[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = at * 2 + 1;
    if (child >= heap.length) break;
    const right = heap[child + 1];
    if (right !== undefined && right.dueAtMs < (heap[child] as Waiting<Item>).dueAtMs) child++;
    if ((heap[child] as Waiting<Item>).dueAtMs >= last.dueAtMs) break;
    heap[at] = heap[child] as Waiting<Item>;
    at = child;
  }
  heap[at] = last;
}
