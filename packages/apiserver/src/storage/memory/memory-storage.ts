/**
 * Storage in memory: a sorted map for the newest state, the feed's tail for history. For tests and
 * in-process use.
 */
import { SortedMap } from "@kcp-ts/machinery/base";
import { ChangeFeed, type DataChange, hasPrefix } from "../change-feed.ts";
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

export interface MemoryStorageOptions {
  /** History beyond this many changes is compacted. */
  readonly historyChangesMax?: number;
  readonly historyBytesMax?: number;
}

export class MemoryStorage implements Storage {
  readonly #entries = new SortedMap<Entry>();
  readonly #feed: ChangeFeed;
  #revision = revisionZero;
  #closed = false;

  constructor(options: MemoryStorageOptions = {}) {
    this.#feed = new ChangeFeed({
      startRevision: revisionZero,
      tailChangesMax: options.historyChangesMax ?? 100_000,
      tailBytesMax: options.historyBytesMax ?? 64 << 20,
    });
  }

  async currentRevision({ signal }: CallOptions): Promise<Revision> {
    this.#enter(signal);
    return this.#revision;
  }

  peek(key: StorageKey): Entry | undefined {
    return this.#closed ? undefined : this.#entries.get(key);
  }

  async get(key: StorageKey, { signal, atRevision }: ReadOptions): Promise<Entry | undefined> {
    this.#enter(signal);
    const undone = this.#previousValuesAfter(atRevision);
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
    this.#checkRevision(afterRevision);
    yield* this.#feed.subscribe(prefix, afterRevision, options);
  }

  async compact(revision: Revision, { signal }: CallOptions): Promise<void> {
    this.#enter(signal);
    if (revision > this.#revision) throw this.#future(revision);
    this.#feed.compact(revision);
  }

  health(): StorageFault | undefined {
    return this.#closed ? { message: "the store is closed" } : undefined;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#feed.close(new StorageError("closed", "the store was closed"));
  }

  *#range(prefix: StorageKey, options: CountOptions): Generator<Entry> {
    const undone = this.#previousValuesAfter(options.atRevision, prefix);
    if (undone === undefined || undone.size === 0) {
      for (const [, entry] of this.#entries.range(prefix, options.continueAfter)) yield entry;
      return;
    }
    const view = new SortedMap<Entry>();
    for (const [key, entry] of this.#entries.range(prefix, options.continueAfter)) {
      if (!undone.has(entry.key)) view.set(key, entry);
    }
    for (const [key, entry] of undone) if (entry !== undefined) view.set(key, entry);
    for (const [, entry] of view.range(prefix, options.continueAfter)) yield entry;
  }

  /** The values at `atRevision` of keys that changed after it. */
  #previousValuesAfter(
    atRevision: Revision | undefined,
    prefix?: StorageKey,
  ): Map<StorageKey, Entry | undefined> | undefined {
    if (atRevision === undefined || atRevision === this.#revision) return undefined;
    this.#checkRevision(atRevision);
    return revertChanges(this.#feed.changesAfter(atRevision), prefix);
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
  prefix: StorageKey | undefined,
): Map<StorageKey, Entry | undefined> {
  const undone = new Map<StorageKey, Entry | undefined>();
  for (const change of changes) {
    if (prefix !== undefined && !hasPrefix(prefix, change)) continue;
    const key = change.kind === "put" ? change.entry.key : change.previous.key;
    if (!undone.has(key)) undone.set(key, change.previous);
  }
  return undone;
}
