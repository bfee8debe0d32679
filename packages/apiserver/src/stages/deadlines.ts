/**
 * Deadlines of all requests with one timer: requests wait in buckets of a second, and a bucket that is due is answered.
 *
 * Coarse on purpose: a deadline is there so that nobody waits for ever, and it is on the path of every write.
 */
import { type Clock, Roster, type Timer } from "@kcp-ts/machinery/base";

export class Deadlines<Item> {
  readonly #clock: Clock;
  readonly #onDue: (item: Item) => void;
  readonly #buckets = new Map<number, Roster<Item>>();
  #timer: Timer | undefined;

  constructor(clock: Clock, onDue: (item: Item) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  /** Calls back at the end of the second in which `timeoutMs` are over. The result takes the item out again. */
  add(item: Item, timeoutMs: number): () => void {
    const bucketKey = Math.ceil((this.#clock.monotonic() + timeoutMs) / bucketMs);
    let bucket = this.#buckets.get(bucketKey);
    if (bucket === undefined) {
      bucket = new Roster();
      this.#buckets.set(bucketKey, bucket);
    }
    this.#timer ??= this.#clock.schedule(bucketMs, () => this.#tick());
    return bucket.add(item);
  }

  close(): void {
    this.#timer?.cancel();
    this.#buckets.clear();
  }

  #tick(): void {
    const now = Math.floor(this.#clock.monotonic() / bucketMs);
    for (const [key, bucket] of this.#buckets) {
      if (key > now) continue;
      this.#buckets.delete(key);
      for (let item = bucket.shift(); item !== undefined; item = bucket.shift()) this.#onDue(item);
    }
    this.#timer =
      this.#buckets.size === 0 ? undefined : this.#clock.schedule(bucketMs, () => this.#tick());
  }
}

const bucketMs = 1000;
