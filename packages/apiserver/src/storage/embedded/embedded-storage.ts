/**
 * Storage in a local directory, on LevelDB: the default backend.
 *
 * Durable: a commit is acknowledged after fdatasync. Memory holds only a bounded cache and the
 * newest changes, so an idle logical cluster costs disk only. History survives a restart. One
 * process at a time uses the directory.
 *
 *     commit -> CommitQueue -> Batch -> Engine         (when it fails: Recovery)
 *     get, list, count -> EntryCache, latest-reader    (the past: history-reader, history-list)
 *     watch -> ChangeFeed                              (from the past: history-reader first)
 */
import { assert, type Clock, neverAborted } from "@kcp-ts/machinery/base";
import { ChangeFeed, hasPrefix } from "../change-feed.ts";
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import { listUndone, type Undone, undo } from "../moves/before-arrival.ts";
import type { MoveRecord } from "../moves/cluster-moves.ts";
import type { Revision } from "../revision.ts";
import type { OpenSnapshot, Snapshot, SnapshotSource, SnapshotTarget } from "../snapshot.ts";
import type {
  CallOptions,
  Change,
  CountOptions,
  Entry,
  ListOptions,
  Page,
  ReadOptions,
  Storage,
  StorageFault,
  WatchOptions,
  Write,
} from "../storage.ts";
import { CommitQueue } from "./commit-queue.ts";
import { Compaction } from "./compaction.ts";
import { EmbeddedClusterMoves, loadMoves } from "./embedded-cluster-moves.ts";
import { EmbeddedPersistentHistory } from "./embedded-persistent-history.ts";
import type { EngineLocation } from "./engine.ts";
import { EntryCache } from "./entry-cache.ts";
import { countAt, listAt } from "./history-list.ts";
import { changesAfter, entryAt } from "./history-reader.ts";
import {
  countLatest,
  entryAtFromMemory,
  listLatest,
  listLatestByEnding,
  loadEntry,
} from "./latest-reader.ts";
import { isLayoutKey, keyBytesMax } from "./layout.ts";
import { LevelDbLocation, openError } from "./level-engine.ts";
import { NegativeLookupFilter, type NegativeLookupLimits } from "./negative-lookup-filter.ts";
import { readStore } from "./open-store.ts";
import { Recovery } from "./recovery.ts";
import { openSnapshot, restoreSnapshot } from "./snapshot.ts";
import { closedError, StoreState } from "./store-state.ts";

export interface EmbeddedStorageOptions {
  /** Created when it does not exist. */
  readonly directory: string;
  readonly clock: Clock;
  /** Logs one line for the operator: a fault began, changed or ended. */
  readonly log?: (message: string) => void;
  /** The memory limit of recently used entries. */
  readonly cacheBytesMax?: number;
  /**
   * The newest changes in memory, so that watches and paged lists of the recent past do not read
   * the disk.
   */
  readonly tailChangesMax?: number;
  readonly tailBytesMax?: number;
  /** Writes in the queue for the disk; further ones are rejected with `unavailable`. */
  readonly queuedWritesMax?: number;
  readonly queuedBytesMax?: number;
  /** Larger values are rejected with `too-large`. */
  readonly valueBytesMax?: number;
  /** The limits of the filter of absent keys, which saves creates a read. */
  readonly negativeLookups?: NegativeLookupLimits;
  /** For tests: the location of the engine. */
  readonly engineLocation?: EngineLocation;
}

export class EmbeddedStorage implements Storage, SnapshotSource, SnapshotTarget {
  readonly #state: StoreState;
  readonly #queue: CommitQueue;
  readonly #compaction: Compaction;
  readonly history: EmbeddedPersistentHistory;
  readonly moves: EmbeddedClusterMoves;
  readonly #recovery: Recovery;
  readonly #valueBytesMax: number;
  #closing: Promise<void> | undefined;

  /**
   * Throws `corrupt` when the data is damaged, `unavailable` when another process uses it or the
   * disk fails.
   */
  static async open(options: EmbeddedStorageOptions): Promise<EmbeddedStorage> {
    const home = options.engineLocation ?? new LevelDbLocation(options.directory);
    const engine = await home.open();
    try {
      const meta = await readStore(engine, home.name);
      const feed = new ChangeFeed({
        startRevision: meta.revision,
        tailChangesMax: options.tailChangesMax ?? 10_000,
        tailBytesMax: options.tailBytesMax ?? 8 << 20,
      });
      const cache = new EntryCache(options.cacheBytesMax ?? 32 << 20);
      const absent = new NegativeLookupFilter(options.negativeLookups);
      const state = new StoreState(home.name, engine, meta, feed, cache, absent);
      await loadMoves(state);
      return new EmbeddedStorage(state, home, options);
    } catch (error) {
      await engine.close();
      throw openError(home.name, error);
    }
  }

  private constructor(state: StoreState, home: EngineLocation, options: EmbeddedStorageOptions) {
    const limits = {
      queuedWritesMax: options.queuedWritesMax ?? 10_000,
      queuedBytesMax: options.queuedBytesMax ?? 64 << 20,
    };
    this.#state = state;
    this.#valueBytesMax = options.valueBytesMax ?? 8 << 20;
    this.#recovery = new Recovery(state, home, options.clock, options.log ?? (() => undefined));
    this.#queue = new CommitQueue(state, limits, options.clock, (error) =>
      this.#recovery.start(error),
    );
    this.moves = new EmbeddedClusterMoves(state, this.#queue);
    this.#compaction = new Compaction(state, this.#queue, this.moves);
    this.history = new EmbeddedPersistentHistory(state, this.#queue);
  }

  /** The number of changes in history. */
  get historyChanges(): number {
    return this.#state.meta.revision - this.#state.meta.compacted;
  }

  /** The disk usage of history, before compression and without garbage of the engine. */
  get historyBytes(): number {
    return this.#state.meta.historyBytes;
  }

  async currentRevision({ signal }: CallOptions): Promise<Revision> {
    this.#enter(signal);
    return this.#state.meta.revision;
  }

  peek(key: StorageKey): Entry | undefined {
    const { closed, moves, cache } = this.#state;
    return closed || moves.isHidden(key) ? undefined : cache.get(key);
  }

  async get(key: StorageKey, { signal, atRevision }: ReadOptions): Promise<Entry | undefined> {
    this.#enter(signal);
    const state = this.#state;
    if (state.moves.isHidden(key)) return undefined;
    if (atRevision === undefined) {
      return state.cache.get(key) ?? (await this.#reading(signal, () => loadEntry(state, key)));
    }
    const arrived = state.moves.importedFor(key, atRevision);
    if (arrived !== undefined) {
      const undone = await this.#undoImported(arrived, key, atRevision, signal);
      if (undone.has(key)) return undone.get(key);
      return await this.get(key, { signal, atRevision: arrived.arrivedAt });
    }
    state.checkRevision(atRevision);
    return await this.#reading(signal, async () => {
      const newest = state.cache.get(key) ?? (await loadEntry(state, key));
      // Reverted after the read: writes during the read are reverted too.
      const undone = entryAtFromMemory(state, key, atRevision);
      if (undone === "unchanged") return newest;
      if (undone === "forgotten") return await entryAt(state, key, atRevision);
      return undone.entry;
    });
  }

  async list(prefix: StorageKey, options: ListOptions): Promise<Page> {
    this.#enter(options.signal);
    const state = this.#state;
    const { entriesMax, atRevision, keyEnding } = options;
    const revision = atRevision ?? state.meta.revision;
    if (state.moves.isHidden(prefix)) return { entries: [], revision, more: false };
    const arrived = state.moves.importedFor(prefix, revision);
    if (arrived !== undefined) return await this.#listImported(prefix, arrived, revision, options);
    state.checkRevision(revision);
    const entries = await this.#reading(options.signal, () => {
      const undone = state.previousValuesAfter(revision, prefix);
      if (undone === undefined) return listAt(state, prefix, revision, entriesMax, options);
      if (keyEnding !== undefined)
        return listLatestByEnding(state, prefix, undone, entriesMax, { ...options, keyEnding });
      return listLatest(state, prefix, undone, entriesMax, options);
    });
    const more = entries.length > entriesMax;
    return { entries: more ? entries.slice(0, entriesMax) : entries, revision, more };
  }

  async count(prefix: StorageKey, options: CountOptions): Promise<number> {
    this.#enter(options.signal);
    const state = this.#state;
    const revision = options.atRevision ?? state.meta.revision;
    if (state.moves.isHidden(prefix)) return 0;
    const arrived = state.moves.importedFor(prefix, revision);
    if (arrived !== undefined) {
      const all = { ...options, entriesMax: Number.POSITIVE_INFINITY };
      return (await this.#listImported(prefix, arrived, revision, all)).entries.length;
    }
    state.checkRevision(revision);
    return await this.#reading(options.signal, () => {
      const undone = state.previousValuesAfter(revision, prefix);
      return undone === undefined
        ? countAt(state, prefix, revision, options)
        : countLatest(state, prefix, undone, options);
    });
  }

  /** A page of an arrived cluster at a revision of its source. */
  async #listImported(
    prefix: StorageKey,
    arrived: MoveRecord,
    revision: Revision,
    options: ListOptions,
  ): Promise<Page> {
    const { continueAfter, entriesMax, signal } = options;
    const { arrivedAt: atRevision } = arrived;
    const undone = await this.#undoImported(arrived, prefix, revision, signal);
    const page = await listUndone(undone, continueAfter, entriesMax, (after) =>
      this.list(prefix, { ...options, continueAfter: after, atRevision, entriesMax: 1000 }),
    );
    return { ...page, revision };
  }

  #undoImported(
    { cluster }: MoveRecord,
    prefix: StorageKey,
    revision: Revision,
    signal: AbortSignal,
  ): Promise<Undone> {
    return this.#reading(signal, () =>
      undo(this.moves.importedChanges(cluster, revision, { signal }), prefix),
    );
  }

  /** Not an async function: every write passes it, and the queue's promise suffices. */
  commit(write: Write, { signal }: CallOptions): Promise<Revision> {
    try {
      this.#enter(signal);
      this.#checkWrite(write);
    } catch (error) {
      return Promise.reject(error);
    }
    // The batch is built synchronously, so its reads from disk come first. A key that is expected
    // to be absent is excluded by a filter in memory.
    if (write.expected !== "absent" && this.#state.cache.get(write.key) === undefined)
      return this.#loadAndCommit(write, signal);
    return this.#queue.commit(write, signal);
  }

  async #loadAndCommit(write: Write, signal: AbortSignal): Promise<Revision> {
    await this.#reading(signal, () => loadEntry(this.#state, write.key));
    return await this.#queue.commit(write, signal);
  }

  #checkWrite({ key, value }: Write): void {
    if (key.length > keyBytesMax)
      throw new StorageError(
        "too-large",
        `the key has ${key.length} bytes, at most ${keyBytesMax}`,
      );
    assert(isLayoutKey(key), `a storage key must be printable ASCII: ${key}`);
    if (value !== "delete" && value.length > this.#valueBytesMax) {
      const message = `the value of ${key} has ${value.length} bytes, at most ${this.#valueBytesMax}`;
      throw new StorageError("too-large", message);
    }
  }

  async *watch(
    prefix: StorageKey,
    afterRevision: Revision,
    options: WatchOptions,
  ): AsyncGenerator<Change> {
    const { signal } = options;
    const state = this.#state;
    this.#enter(signal);
    let reached = afterRevision;
    const arrived = state.moves.importedFor(prefix, afterRevision);
    if (arrived !== undefined) {
      reached = arrived.arrivedAt;
      const { cluster } = arrived;
      const unaborted = { signal: neverAborted };
      for await (const change of this.moves.importedChanges(cluster, afterRevision, unaborted)) {
        if (signal.aborted) return;
        if (hasPrefix(prefix, change)) yield change;
      }
    }
    state.checkRevision(reached);
    while (reached < state.feed.tailStart) {
      if (state.closed) throw closedError();
      const from = reached;
      const slice = await this.#reading(undefined, () => changesAfter(state, prefix, from));
      for (const change of slice.changes) {
        if (signal.aborted) return;
        yield change;
      }
      reached = slice.upTo;
      if (signal.aborted) return;
    }
    if (state.closed) throw closedError();
    yield* state.feed.subscribe(prefix, reached, options);
  }

  async compact(revision: Revision, { signal }: CallOptions): Promise<void> {
    this.#enter(signal);
    if (revision > this.#state.meta.revision) this.#state.checkRevision(revision);
    await this.#reading(signal, () => this.#compaction.compact(revision, signal));
  }

  evictUnused(): void {
    this.#state.cache.evictUnused();
    this.#state.feed.dropOldTail();
  }

  async releaseMemory(): Promise<void> {
    this.#state.feed.clearTail();
    if (this.#closing === undefined && this.#state.fault === undefined)
      await this.#state.engine.flush();
  }

  /** The number of entries and changes in memory. */
  get cachedCount(): number {
    return this.#state.cache.size + this.#state.feed.size;
  }

  async openSnapshot({ signal }: CallOptions): Promise<OpenSnapshot> {
    this.#enter(signal);
    return await openSnapshot(this.#state, signal);
  }

  storedChanges(afterRevision: Revision, options: WatchOptions): AsyncIterable<Change> {
    return this.watch("/" as StorageKey, afterRevision, options);
  }

  async restoreSnapshot(snapshot: Snapshot, { signal }: CallOptions): Promise<void> {
    this.#enter(signal);
    await restoreSnapshot(this.#state, this.#queue, snapshot, signal);
  }

  health(): StorageFault | undefined {
    const { directory, fault, restoring } = this.#state;
    if (this.#closing !== undefined) return { message: "the store is closed" };
    if (fault !== undefined) return fault;
    if (restoring) {
      const message = `a restore into ${directory} is running or was interrupted: restore again into an empty directory`;
      return { message };
    }
    const writingForMs = this.#queue.batchDurationMs();
    if (writingForMs < stalledWriteMs) return undefined;
    const seconds = Math.floor(writingForMs / 1000);
    return { message: `a write to ${directory} has been waiting for ${seconds} s: check the disk` };
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#queue.drain();
    await this.#recovery.stop();
    this.#state.closed = true;
    this.#state.feed.close(closedError());
    await this.#state.takeEngine()?.close();
  }

  async #reading<T>(signal: AbortSignal | undefined, body: () => Promise<T>): Promise<T> {
    try {
      return await body();
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#state.storageError(error);
    }
  }

  #enter(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#closing !== undefined) throw closedError();
  }
}

/** A disk that takes longer for one batch is reported, while the batch is still in flight. */
const stalledWriteMs = 10_000;
