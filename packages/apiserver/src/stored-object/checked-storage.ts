/**
 * A store whose lists and feed return only valid objects.
 *
 * A value that is damaged, or that another program stored, would otherwise make every list with it
 * unreadable, and end every reader of the feed. The value is omitted and reported, and is an error
 * only for requests by its name.
 */
import type {
  CallOptions,
  Change,
  ClusterMoves,
  CountOptions,
  Entry,
  ListOptions,
  Page,
  PersistentHistory,
  ReadOptions,
  Revision,
  Storage,
  StorageFault,
  StorageKey,
  WatchOptions,
  Write,
} from "../storage/index.ts";
import { isIntact } from "./envelope.ts";

export type CorruptEntry = Pick<Entry, "key" | "modifiedAt">;

export class CheckedStorage implements Storage {
  readonly #inner: Storage;
  readonly #onCorrupt: (damage: CorruptEntry) => void;
  readonly peek?: (key: StorageKey) => Entry | undefined;
  readonly requestProgress?: () => boolean;
  readonly evictUnused?: () => void;
  readonly releaseMemory?: () => Promise<void>;
  readonly history?: PersistentHistory;
  readonly moves?: ClusterMoves;

  constructor(inner: Storage, onDamage: (damage: CorruptEntry) => void) {
    this.#inner = inner;
    this.#onCorrupt = onDamage;
    if (inner.peek !== undefined) this.peek = inner.peek.bind(inner);
    if (inner.requestProgress !== undefined)
      this.requestProgress = () => inner.requestProgress?.() === true;
    if (inner.evictUnused !== undefined) this.evictUnused = () => inner.evictUnused?.();
    if (inner.releaseMemory !== undefined) this.releaseMemory = async () => inner.releaseMemory?.();
    if (inner.history !== undefined) this.history = inner.history;
    if (inner.moves !== undefined) this.moves = inner.moves;
  }

  currentRevision(options: CallOptions): Promise<Revision> {
    return this.#inner.currentRevision(options);
  }

  get(key: StorageKey, options: ReadOptions): Promise<Entry | undefined> {
    return this.#inner.get(key, options);
  }

  /**
   * A page has at least one object unless it is the last one, because the next page continues after
   * its last key.
   */
  async list(prefix: StorageKey, options: ListOptions): Promise<Page> {
    let page = await this.#inner.list(prefix, options);
    if (options.includeCorrupt === true) return page;
    for (;;) {
      const entries = this.#withoutCorrupt(page.entries);
      if (entries.length > 0 || !page.more)
        return { entries, revision: page.revision, more: page.more };
      const continueAfter = page.entries.at(-1)?.key;
      const { revision: atRevision } = page;
      page = await this.#inner.list(prefix, { ...options, continueAfter, atRevision });
    }
  }

  count(prefix: StorageKey, options: CountOptions): Promise<number> {
    return this.#inner.count(prefix, options);
  }

  commit(write: Write, options: CallOptions): Promise<Revision> {
    return this.#inner.commit(write, options);
  }

  watch(prefix: StorageKey, afterRevision: Revision, options: WatchOptions): AsyncIterable<Change> {
    const changes = this.#inner.watch(prefix, afterRevision, options);
    return {
      [Symbol.asyncIterator]: () => {
        const iterator = changes[Symbol.asyncIterator]();
        const checked = (result: IteratorResult<Change>): IteratorResult<Change> =>
          result.done === true ? result : { done: false, value: this.#checked(result.value) };
        return {
          next: () => iterator.next().then(checked),
          return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
        };
      },
    };
  }

  compact(revision: Revision, options: CallOptions): Promise<void> {
    return this.#inner.compact(revision, options);
  }

  health(): StorageFault | undefined {
    return this.#inner.health();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #withoutCorrupt(entries: readonly Entry[]): readonly Entry[] {
    if (entries.every(isIntact)) return entries;
    return entries.filter((entry) => this.#isIntact(entry));
  }

  #isIntact(entry: Entry): boolean {
    if (isIntact(entry)) return true;
    this.#onCorrupt(entry);
    return false;
  }

  /** A damaged value counts as absent: the change becomes a create, a delete, or nothing. */
  #checked(change: Change): Change {
    if (change.kind === "progress") return change;
    const { revision, previous } = change;
    const isKnown = previous !== undefined && this.#isIntact(previous);
    if (change.kind === "put" && this.#isIntact(change.entry))
      return isKnown || previous === undefined ? change : { ...change, previous: undefined };
    return isKnown ? { kind: "delete", revision, previous } : { kind: "progress", revision };
  }
}
