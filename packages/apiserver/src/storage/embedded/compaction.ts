/**
 * Compacts history: first logically and durably; then from the disk, one bounded slice after
 * another between the writes.
 *
 * An interrupted sweep leaves records that no read can see; the next sweep removes them.
 */
import type { Revision } from "../revision.ts";
import type { CommitQueue } from "./commit-queue.ts";
import type { EmbeddedClusterMoves } from "./embedded-cluster-moves.ts";
import type { EngineOperation } from "./engine.ts";
import { decodeHistoryGroup } from "./history-group.ts";
import { deletionKey, historyRange, oldKey, parseHistoryKey } from "./layout.ts";
import type { StoreState } from "./store-state.ts";

export class Compaction {
  readonly #state: StoreState;
  readonly #queue: CommitQueue;
  readonly #moves: Pick<EmbeddedClusterMoves, "forgetOld">;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    state: StoreState,
    queue: CommitQueue,
    moves: Pick<EmbeddedClusterMoves, "forgetOld">,
  ) {
    this.#state = state;
    this.#queue = queue;
    this.#moves = moves;
  }

  /** One compaction at a time: a second call waits for the first. */
  compact(revision: Revision, signal: AbortSignal): Promise<void> {
    const run = this.#last.then(() => this.#compact(revision, signal));
    // A failed compaction rejects its own caller only, not the next one.
    this.#last = Promise.allSettled([run]);
    return run;
  }

  async #compact(revision: Revision, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (revision > this.#state.meta.compacted) {
      await this.#queue.maintenance({
        operations: [],
        changeMeta: (meta) => ({ ...meta, compacted: revision }),
      });
    }
    while (this.#state.meta.swept < this.#state.meta.compacted) {
      signal.throwIfAborted();
      if (!(await this.#sweepSlice())) break;
    }
    await this.#moves.forgetOld(signal);
  }

  /** Removes some of the completely compacted groups; false when none remain. */
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
        const group = decodeHistoryGroup(record, this.#state.directory);
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
    await this.#queue.maintenance({
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
 * A slice ends with the group that reaches this number of operations: at most about three times
 * `batchWritesMax` more.
 */
const sliceOperations = 1000;
