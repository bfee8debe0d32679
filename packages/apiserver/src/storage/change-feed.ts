/**
 * The change feed of a backend with its changes in its own process.
 *
 * Keeps a bounded tail of changes for watches to start from, and delivers each new change to the
 * subscriptions with a matching prefix. A subscription holds at most `bufferedChangesMax` changes:
 * a reader further behind is ended.
 */
import { assert } from "@kcp-ts/machinery/base";
import { StorageError } from "./errors.ts";
import type { StorageKey } from "./key.ts";
import { clusterUnder } from "./moves/move-table.ts";
import type { Revision } from "./revision.ts";
import type { Change, WatchOptions } from "./storage.ts";

export type DataChange = Exclude<Change, { kind: "progress" }>;

export interface ChangeFeedOptions {
  /** The revision before the first change that will be published. */
  readonly startRevision: Revision;
  readonly tailChangesMax: number;
  readonly tailBytesMax: number;
}

export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  #tail: DataChange[] = [];
  #tailBytes = 0;
  #tailStart: Revision;
  #head: Revision;
  #droppableTo: Revision;
  #subscriptions = new Set<Subscription>();

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    this.#tailStart = options.startRevision;
    this.#head = options.startRevision;
    this.#droppableTo = options.startRevision;
  }

  /** Changes after this revision can be replayed from memory. */
  get tailStart(): Revision {
    return this.#tailStart;
  }

  /** Accepts changes in revision order, in the turn in which their writes are acknowledged. */
  publish(changes: readonly DataChange[]): void {
    for (const change of changes) {
      this.#tail.push(change);
      this.#head = change.revision;
      this.#tailBytes += changeBytes(change);
      for (const subscription of this.#subscriptions) subscription.offer(change);
    }
    this.#trim();
  }

  /** The store's revision is this one now, without a change. */
  advance(revision: Revision): void {
    if (revision <= this.#head) return;
    this.#head = revision;
    for (const subscription of this.#subscriptions)
      subscription.offer({ kind: "progress", revision });
  }

  /** Drops the tail at and below a revision. */
  compact(revision: Revision): void {
    let drop = 0;
    while (drop < this.#tail.length && (this.#tail[drop] as DataChange).revision <= revision) {
      this.#tailBytes -= changeBytes(this.#tail[drop++] as DataChange);
    }
    this.#tail = this.#tail.slice(drop);
    if (revision > this.#tailStart) this.#tailStart = revision;
  }

  /** Drops the part of the tail that was there at the last call already. */
  dropOldTail(): void {
    this.compact(this.#droppableTo);
    this.#droppableTo = this.#head;
  }

  /** Drops the whole tail. */
  clearTail(): void {
    this.compact(this.#head);
  }

  /** The number of changes in the tail. */
  get size(): number {
    return this.#tail.length;
  }

  /** Changes after `afterRevision`, which the tail must still hold, and then live ones. */
  subscribe(
    prefix: StorageKey,
    afterRevision: Revision,
    options: WatchOptions,
  ): AsyncGenerator<Change> {
    assert(afterRevision >= this.#tailStart, "the tail no longer holds these changes");
    const replay: Change[] = this.changesAfter(afterRevision).filter((change) =>
      hasPrefix(prefix, change),
    );
    replay.push({ kind: "progress", revision: this.#head });
    const subscription = new Subscription(prefix, options, replay, () =>
      this.#subscriptions.delete(subscription),
    );
    this.#subscriptions.add(subscription);
    return subscription.read();
  }

  changesAfter(afterRevision: Revision): readonly DataChange[] {
    let low = 0;
    let high = this.#tail.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#tail[middle] as DataChange).revision <= afterRevision) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? [...this.#tail] : this.#tail.slice(low);
  }

  /** Ends all watches with `error`. */
  close(error: StorageError): void {
    for (const subscription of this.#subscriptions) subscription.fail(error);
    this.#subscriptions.clear();
  }

  #trim(): void {
    const { tailChangesMax, tailBytesMax } = this.#options;
    if (this.#tail.length <= tailChangesMax * 1.25 && this.#tailBytes <= tailBytesMax) return;
    let drop = 0;
    while (
      drop < this.#tail.length &&
      (this.#tail.length - drop > tailChangesMax || this.#tailBytes > tailBytesMax * 0.8)
    ) {
      const change = this.#tail[drop++] as DataChange;
      this.#tailBytes -= changeBytes(change);
      this.#tailStart = change.revision;
    }
    this.#tail = this.#tail.slice(drop);
  }
}

class Subscription {
  readonly #prefix: StorageKey;
  readonly #options: WatchOptions;
  readonly #onEnd: () => void;
  #pending: Change[];
  /** Replayed history does not count against the buffer of the reader: only later changes do. */
  #replayLeft: number;
  #failure: StorageError | undefined;
  #wake: (() => void) | undefined;

  constructor(prefix: StorageKey, options: WatchOptions, replay: Change[], onEnd: () => void) {
    this.#prefix = prefix;
    this.#options = options;
    this.#pending = replay;
    this.#replayLeft = replay.length;
    this.#onEnd = onEnd;
  }

  offer(change: Change): void {
    if (
      this.#failure !== undefined ||
      !(change.kind === "progress" || hasPrefix(this.#prefix, change))
    )
      return;
    if (this.#pending.length - this.#replayLeft >= this.#options.bufferedChangesMax) {
      if (change.kind === "progress") return;
      this.fail(
        new StorageError(
          "overrun",
          `watch of ${this.#prefix} is over ${this.#options.bufferedChangesMax} changes behind`,
        ),
      );
      return;
    }
    this.#pending.push(change);
    this.#wake?.();
  }

  fail(error: StorageError): void {
    this.#failure = error;
    this.#pending = [];
    this.#onEnd();
    this.#wake?.();
  }

  async *read(): AsyncGenerator<Change> {
    const { signal } = this.#options;
    const onAbort = () => this.#wake?.();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      while (!signal.aborted) {
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#pending.length === 0) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
          this.#wake = undefined;
          continue;
        }
        const batch = this.#pending;
        this.#pending = [];
        this.#replayLeft = 0;
        for (const change of batch) {
          if (signal.aborted) return;
          yield change;
          // The lag of the reader now includes the rest of this batch.
          if (this.#failure !== undefined) throw this.#failure;
        }
        // A suspended generator keeps references to its last values.
        batch.length = 0;
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#onEnd();
    }
  }
}

/** Whether a watch of a prefix has the change. */
export function hasPrefix(prefix: StorageKey, change: DataChange): boolean {
  if (change.relocation === true && clusterUnder(prefix) !== undefined) return false;
  return (change.kind === "put" ? change.entry : change.previous).key.startsWith(prefix);
}

export function keyOfChange(change: DataChange): StorageKey {
  return change.kind === "put" ? change.entry.key : change.previous.key;
}

export function changeBytes(change: DataChange): number {
  const fixed = 200;
  return (
    fixed +
    (change.kind === "put" ? change.entry.value.length : 0) +
    (change.previous?.value.length ?? 0)
  );
}
