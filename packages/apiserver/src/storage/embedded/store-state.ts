/**
 * What the parts of the embedded store share: the engine, the counters, the feed, the cache and the batch in
 * flight.
 *
 * Acknowledged state is `meta.revision`. The engine may be ahead of it by the batch in flight, never by more:
 * there is only one.
 */
import { StorageError } from "../errors.ts";
import type { ChangeFeed, DataChange } from "../feed.ts";
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { Entry, StorageFault } from "../storage.ts";
import type { NegativeLookupFilter } from "./absent-keys.ts";
import type { Batch } from "./batch.ts";
import { corruptError } from "./corruption.ts";
import type { Engine } from "./engine.ts";
import type { EntryCache } from "./entry-cache.ts";
import { BatchedGets } from "./gathered-reads.ts";
import type { Meta } from "./meta.ts";

export class StoreState {
  /** The directory, for messages. */
  readonly where: string;
  readonly feed: ChangeFeed;
  readonly cache: EntryCache;
  readonly absent: NegativeLookupFilter;
  readonly reads = new BatchedGets();
  meta: Meta;
  /**
   * Written to the engine with an outcome that is not known yet; stays after a failure until recovery learns
   * it.
   */
  inFlight: Batch | undefined;
  fault: StorageFault | undefined;
  /** A snapshot is being restored, or its restoring failed in the middle: not a store to write to. */
  restoring = false;
  closed = false;
  #engine: Engine | undefined;

  constructor(
    where: string,
    engine: Engine,
    meta: Meta,
    feed: ChangeFeed,
    cache: EntryCache,
    absent: NegativeLookupFilter,
  ) {
    this.where = where;
    this.#engine = engine;
    this.meta = meta;
    this.feed = feed;
    this.cache = cache;
    this.absent = absent;
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

  /** What memory knows of the engine's keys, when they have changed in other ways than by batches. */
  forget(): void {
    this.cache.clear();
    this.absent.clear();
  }

  unavailable(cause?: unknown): StorageError {
    const message = this.fault?.message ?? `the data in ${this.where} cannot be reached`;
    return new StorageError("unavailable", message, { cause });
  }

  /** Makes the batch the acknowledged state and tells watches, in one turn. */
  acknowledge(batch: Batch): void {
    this.meta = batch.meta;
    this.inFlight = undefined;
    for (const change of batch.changes) {
      if (change.kind === "put" && change.previous === undefined) this.cache.insert(change.entry);
      else if (change.kind === "put") this.cache.update(change.entry.key, change.entry);
      else this.cache.update(change.previous.key, undefined);
    }
    this.feed.publish(batch.changes);
    if (batch.meta.compacted > this.feed.tailStart) this.feed.compact(batch.meta.compacted);
  }

  /**
   * All changes after a revision that the engine may show; undefined when memory does not go back that far.
   */
  changesAfter(revision: Revision): readonly DataChange[] | undefined {
    if (revision < this.feed.tailStart) return undefined;
    const acknowledged = this.feed.tailAfter(revision);
    if (this.inFlight === undefined) return acknowledged;
    return [...acknowledged, ...this.inFlight.changes];
  }

  /** What keys that changed after a revision held at it: lies over whatever the engine shows. */
  undoneAfter(
    revision: Revision,
    prefix: StorageKey,
  ): Map<StorageKey, Entry | undefined> | undefined {
    const changes = this.changesAfter(revision);
    if (changes === undefined) return undefined;
    const undone = new Map<StorageKey, Entry | undefined>();
    for (const change of changes) {
      const key = change.kind === "put" ? change.entry.key : change.previous.key;
      if (key.startsWith(prefix) && !undone.has(key)) undone.set(key, change.previous);
    }
    return undone;
  }

  /** Throws unless history reaches from `revision` to now. */
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

  /** An engine's failure in our terms; what is not an engine's failure stays what it is. */
  storageError(error: unknown): unknown {
    const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
    if (error instanceof StorageError || typeof code !== "string") return error;
    if (this.closed) return closedError();
    const reason = (error as Error).message;
    if (code === "LEVEL_CORRUPTION") return corruptError(this.where, reason, error);
    if (this.fault !== undefined) return this.unavailable(error);
    return new StorageError("unavailable", `cannot read ${this.where}: ${reason}`, {
      cause: error,
    });
  }
}

export function closedError(): StorageError {
  return new StorageError("closed", "the store was closed");
}
