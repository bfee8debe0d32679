/**
 * Storage in memory: a sorted map for the newest state, the feed's tail for history. For tests and
 * in-process use.
 */
import { SortedMap } from "@kcp-ts/machinery/base";
import { ChangeFeed, type DataChange, hasPrefix, keyOfChange } from "../change-feed.ts";
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import { type Revision, revisionZero } from "../revision.ts";
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
import { MemoryClusterMoves } from "./memory-cluster-moves.ts";

export interface MemoryStorageOptions {
  /** History beyond this many changes is compacted. */
  readonly historyChangesMax?: number;
  readonly historyBytesMax?: number;
}

export class MemoryStorage implements Storage {
  readonly #entries = new SortedMap<Entry>();
  readonly #feed: ChangeFeed;
  readonly moves: MemoryClusterMoves;
  #revision = revisionZero;
  #closed = false;

  constructor(options: MemoryStorageOptions = {}) {
    this.#feed = new ChangeFeed({
      startRevision: revisionZero,
      tailChangesMax: options.historyChangesMax ?? 100_000,
      tailBytesMax: options.historyBytesMax ?? 64 << 20,
    });
    this.moves = new MemoryClusterMoves({
      entries: this.#entries,
      feed: this.#feed,
      current: () => this.#revision,
      raise: (above) => this.#raise(Math.max(above, this.#revision)),
    });
  }

  async currentRevision({ signal }: CallOptions): Promise<Revision> {
    this.#enter(signal);
    return this.#revision;
  }

  peek(key: StorageKey): Entry | undefined {
    return this.#closed || this.moves.table.isHidden(key) ? undefined : this.#entries.get(key);
  }

  async get(key: StorageKey, { signal, atRevision }: ReadOptions): Promise<Entry | undefined> {
    this.#enter(signal);
    const { table } = this.moves;
    if (table.isHidden(key)) return undefined;
    const undone = this.#undoneOf(key, atRevision);
    return undone?.has(key) ? undone.get(key) : this.#entries.get(key);
  }

  async list(prefix: StorageKey, options: ListOptions): Promise<Page> {
    this.#enter(options.signal);
    const entries: Entry[] = [];
    const revision = options.atRevision ?? this.#revision;
    for (const entry of this.#range(prefix, options)) {
      if (entries.length === options.entriesMax) return { entries, revision, more: true };
      entries.push(entry);
    }
    return { entries, revision, more: false };
  }

  async count(prefix: StorageKey, options: CountOptions): Promise<number> {
    this.#enter(options.signal);
    let count = 0;
    for (const _ of this.#range(prefix, options)) count++;
    return count;
  }

  async commit(write: Write, { signal }: CallOptions): Promise<Revision> {
    this.#enter(signal);
    const previous = this.#entries.get(write.key);
    const expected = write.expected === "absent" ? undefined : write.expected;
    if (previous?.modifiedAt !== expected) {
      throw new StorageError("conflict", `key ${write.key} is not at revision ${write.expected}`, {
        current: previous?.modifiedAt,
      });
    }
    this.moves.table.checkWrite(write.key);
    const revision = (this.#revision + 1) as Revision;
    if (write.value === "delete") {
      if (previous === undefined)
        throw new StorageError("conflict", `key ${write.key} is absent and cannot be deleted`);
      this.#revision = revision;
      this.#entries.delete(write.key);
      this.#feed.publish([{ kind: "delete", previous, revision }]);
      return revision;
    }
    this.#revision = revision;
    const createdAt = previous?.createdAt ?? revision;
    const entry: Entry = { key: write.key, value: write.value, createdAt, modifiedAt: revision };
    this.#entries.set(write.key, entry);
    this.#feed.publish([{ kind: "put", entry, previous, revision }]);
    return revision;
  }

  async *watch(
    prefix: StorageKey,
    afterRevision: Revision,
    options: WatchOptions,
  ): AsyncGenerator<Change> {
    this.#enter(options.signal);
    let reached = afterRevision;
    const arrived = this.moves.table.importedFor(prefix, afterRevision);
    if (arrived !== undefined) {
      reached = arrived.arrivedAt;
      for (const change of this.moves.changesOf(arrived.cluster, afterRevision)) {
        if (options.signal.aborted) return;
        if (hasPrefix(prefix, change)) yield change;
      }
    }
    this.#checkRevision(reached);
    yield* this.#feed.subscribe(prefix, reached, options);
  }

  async compact(revision: Revision, { signal }: CallOptions): Promise<void> {
    this.#enter(signal);
    if (revision > this.#revision) throw this.#future(revision);
    this.#feed.compact(revision);
    this.moves.forgetOld();
  }

  health(): StorageFault | undefined {
    return this.#closed ? { message: "the store is closed" } : undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#feed.close(new StorageError("closed", "the store was closed"));
  }

  *#range(prefix: StorageKey, options: CountOptions): Generator<Entry> {
    const { table } = this.moves;
    const undone = this.#undoneOf(prefix, options.atRevision);
    if (undone === undefined || undone.size === 0) {
      for (const [, entry] of this.#entries.range(prefix, options.continueAfter))
        if (!table.isHidden(entry.key)) yield entry;
      return;
    }
    const view = new SortedMap<Entry>();
    for (const [key, entry] of this.#entries.range(prefix, options.continueAfter)) {
      if (!undone.has(entry.key) && !table.isHidden(entry.key)) view.set(key, entry);
    }
    for (const [key, entry] of undone)
      if (entry !== undefined && !table.isHidden(key)) view.set(key, entry);
    for (const [, entry] of view.range(prefix, options.continueAfter)) yield entry;
  }

  /** The values at `atRevision` of the keys with a prefix that changed after it. */
  #undoneOf(
    prefix: StorageKey,
    atRevision: Revision | undefined,
  ): Map<StorageKey, Entry | undefined> | undefined {
    if (atRevision === undefined || atRevision === this.#revision) return undefined;
    const arrived = this.moves.table.importedFor(prefix, atRevision);
    if (arrived === undefined) {
      this.#checkRevision(atRevision);
      return revertChanges(this.#feed.changesAfter(atRevision), prefix);
    }
    const imported = this.moves.changesOf(arrived.cluster, atRevision);
    this.#checkRevision(arrived.arrivedAt);
    const changes = [...imported, ...this.#feed.changesAfter(arrived.arrivedAt)];
    return revertChanges(changes, prefix);
  }

  #raise(revision: number): Revision {
    this.#revision = (revision + 1) as Revision;
    return this.#revision;
  }

  #checkRevision(revision: Revision): void {
    if (revision > this.#revision) throw this.#future(revision);
    if (revision < this.#feed.tailStart) {
      throw new StorageError(
        "compacted",
        `revision ${revision} is older than the history that is kept`,
        { oldest: this.#feed.tailStart },
      );
    }
  }

  #future(revision: Revision): StorageError {
    return new StorageError("future", `revision ${revision} has not happened yet`, {
      current: this.#revision,
    });
  }

  #enter(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#closed) throw new StorageError("closed", "the store was closed");
  }
}

/**
 * The entries before the given changes, by key; the first change of a key has the entry before all
 * of them.
 */
function revertChanges(
  changes: readonly DataChange[],
  prefix: StorageKey,
): Map<StorageKey, Entry | undefined> {
  const undone = new Map<StorageKey, Entry | undefined>();
  for (const change of changes) {
    if (!hasPrefix(prefix, change)) continue;
    const key = keyOfChange(change);
    if (!undone.has(key)) undone.set(key, change.previous);
  }
  return undone;
}
