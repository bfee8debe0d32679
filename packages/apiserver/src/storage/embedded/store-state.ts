/**
 * The shared state of the embedded store's parts: the engine, the counters, the feed, the cache and
 * the batch in flight.
 *
 * The acknowledged state is `meta.revision`. The engine may be ahead of it by the batch in flight,
 * never by more: there is only one.
 */
import { type ChangeFeed, type DataChange, hasPrefix, keyOfChange } from "../change-feed.ts";
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import { MoveTable } from "../moves/move-table.ts";
import type { Revision } from "../revision.ts";
import type { Entry, StorageFault } from "../storage.ts";
import type { Batch } from "./batch.ts";
import { BatchedGets } from "./batched-gets.ts";
import { corruptError } from "./corrupt-error.ts";
import type { Engine } from "./engine.ts";
import type { EntryCache } from "./entry-cache.ts";
import type { Meta } from "./meta.ts";
import type { NegativeLookupFilter } from "./negative-lookup-filter.ts";

export class StoreState {
  /** The directory, for messages. */
  readonly directory: string;
  readonly feed: ChangeFeed;
  readonly cache: EntryCache;
  readonly negativeLookups: NegativeLookupFilter;
  readonly batchedGets = new BatchedGets();
  readonly moves = new MoveTable();
  meta: Meta;
  /** A batch whose outcome is unknown yet; stays after a failure until recovery resolves it. */
  inFlight: Batch | undefined;
  fault: StorageFault | undefined;
  /** A snapshot is being restored, or its restore failed in the middle: writes are rejected. */
  restoring = false;
  closed = false;
  #engine: Engine | undefined;

  constructor(
    directory: string,
    engine: Engine,
    meta: Meta,
    feed: ChangeFeed,
    cache: EntryCache,
    negativeLookups: NegativeLookupFilter,
  ) {
    this.directory = directory;
    this.#engine = engine;
    this.meta = meta;
    this.feed = feed;
    this.cache = cache;
    this.negativeLookups = negativeLookups;
  }

  /** Throws `unavailable` while recovery has the files closed. */
  get engine(): Engine {
    if (this.closed) throw closedError();
    if (this.#engine === undefined) throw this.unavailable();
    return this.#engine;
  }

  setEngine(engine: Engine): void {
    this.#engine = engine;
  }

  takeEngine(): Engine | undefined {
    const engine = this.#engine;
    this.#engine = undefined;
    return engine;
  }

  /** Drops all cached knowledge of the engine's keys, after changes that were not batches. */
  clearCaches(): void {
    this.cache.clear();
    this.negativeLookups.clear();
  }

  unavailable(cause?: unknown): StorageError {
    const message = this.fault?.message ?? `the data in ${this.directory} cannot be reached`;
    return new StorageError("unavailable", message, { cause });
  }

  /** Makes the batch the acknowledged state and notifies watches, in one turn. */
  acknowledge(batch: Batch): void {
    this.meta = batch.meta;
    this.inFlight = undefined;
    if (batch.move !== undefined) this.moves.set(batch.move.cluster, batch.move.record);
    for (const change of batch.changes) {
      // An arrived object is not new, and may be cached.
      if (change.kind === "put" && change.relocation === true) continue;
      if (change.kind === "put" && change.previous === undefined) this.cache.insert(change.entry);
      else if (change.kind === "put") this.cache.update(change.entry.key, change.entry);
      else this.cache.update(change.previous.key, undefined);
    }
    this.feed.publish(batch.changes);
    this.feed.advance(batch.meta.revision);
    if (batch.meta.compacted > this.feed.tailStart) this.feed.compact(batch.meta.compacted);
  }

  /**
   * All changes after a revision that the engine may contain; undefined when memory does not go
   * back that far.
   */
  changesAfter(revision: Revision): readonly DataChange[] | undefined {
    if (revision < this.feed.tailStart) return undefined;
    const acknowledged = this.feed.changesAfter(revision);
    if (this.inFlight === undefined) return acknowledged;
    return [...acknowledged, ...this.inFlight.changes];
  }

  /** The values at a revision of keys that changed after it: they override the engine's. */
  previousValuesAfter(
    revision: Revision,
    prefix: StorageKey,
  ): Map<StorageKey, Entry | undefined> | undefined {
    const changes = this.changesAfter(revision);
    if (changes === undefined) return undefined;
    const undone = new Map<StorageKey, Entry | undefined>();
    for (const change of changes) {
      if (!hasPrefix(prefix, change)) continue;
      const key = keyOfChange(change);
      if (!undone.has(key)) undone.set(key, change.previous);
    }
    return undone;
  }

  /** Throws unless history covers `revision`. */
  checkRevision(revision: Revision): void {
    if (revision > this.meta.revision) {
      throw new StorageError("future", `revision ${revision} has not happened yet`, {
        current: this.meta.revision,
      });
    }
    if (revision < this.meta.compacted) {
      throw new StorageError(
        "compacted",
        `revision ${revision} is older than the history that is kept`,
        { oldest: this.meta.compacted },
      );
    }
  }

  /** Converts an engine's error to a StorageError; other errors are returned unchanged. */
  storageError(error: unknown): unknown {
    const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
    if (error instanceof StorageError || typeof code !== "string") return error;
    if (this.closed) return closedError();
    const reason = (error as Error).message;
    if (code === "LEVEL_CORRUPTION") return corruptError(this.directory, reason, error);
    if (this.fault !== undefined) return this.unavailable(error);
    return new StorageError("unavailable", `cannot read ${this.directory}: ${reason}`, {
      cause: error,
    });
  }
}

export function closedError(): StorageError {
  return new StorageError("closed", "the store was closed");
}
