/**
 * Forgets history: first for everybody, durably; then from the disk, one bounded slice after another between
 * the writes.
 *
 * A sweep that is cut short leaves records nobody can see; the next one takes them along.
 */
import type { Revision } from "../revision.ts";
import type { CommitQueue } from "./commit-queue.ts";
import type { EngineOperation } from "./engine.ts";
import { decodeHistoryGroup } from "./history-group.ts";
import { deletionKey, historyRange, oldKey, parseHistoryKey } from "./layout.ts";
import type { StoreState } from "./store-state.ts";

export class Compaction {
  readonly #state: StoreState;
  readonly #queue: CommitQueue;
  #last: Promise<unknown> = Promise.resolve();

  constructor(state: StoreState, queue: CommitQueue) {
    this.#state = state;
    this.#queue = queue;
  }

  /** One at a time: a second call waits for the first. */
  compact(revision: Revision, signal: AbortSignal): Promise<void> {
    const run = this.#last.then(() => this.#compact(revision, signal));
    // A failed compaction is its caller's matter, not that of the next one.
    this.#last = Promise.allSettled([run]);
    return run;
  }

  async #compact(revision: Revision, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (revision > this.#state.meta.compacted) {
      await this.#queue.upkeep({
        operations: [],
        changeMeta: (meta) => ({ ...meta, compacted: revision }),
      });
    }
    while (this.#state.meta.swept < this.#state.meta.compacted) {
      signal.throwIfAborted();
      if (!(await this.#sweepSlice())) return;
    }
  }

  /** Removes the groups that are wholly forgotten, some of them; false when none is left. */
  async #sweepSlice(): Promise<boolean> {
    const { swept, compacted } = this.#state.meta;
    const operations: EngineOperation[] = [];
    let upTo = swept;
    let freedBytes = 0;
    const cursor = this.#state.engine.scan(historyRange(swept, compacted));
    try {
      while (operations.length < sliceOperations) {
        const [pair] = await cursor.next(1);
        if (pair === undefined) break;
        const [engineKey, record] = pair;
        const group = decodeHistoryGroup(record, this.#state.where);
        operations.push({ type: "del", key: engineKey });
        for (const { kind, key, revision, previousAt } of group.changes) {
          if (previousAt !== undefined)
            operations.push({ type: "del", key: oldKey(key, previousAt) });
          if (kind === "delete") operations.push({ type: "del", key: deletionKey(key, revision) });
        }
        freedBytes += group.historyBytes;
        upTo = parseHistoryKey(engineKey).last;
      }
    } finally {
      await cursor.close();
    }
    if (operations.length === 0) return false;
    await this.#queue.upkeep({
      operations,
      changeMeta: (meta) => ({
        ...meta,
        swept: upTo,
        historyBytes: Math.max(0, meta.historyBytes - freedBytes),
      }),
    });
    return true;
  }
}

/**
 * A slice ends with the group that brings it to this many: at most about three times `batchWritesMax` more.
 */
const sliceOperations = 1000;
