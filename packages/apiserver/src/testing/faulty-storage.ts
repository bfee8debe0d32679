/**
 * A store that fails on demand: every call throws `unavailable`, open watches are ended, `health`
 * reports the fault. `holdCommits` delays commits until the test releases them; after
 * `stopWatchEvents` watches stay open without events.
 */
import {
  type CallOptions,
  type Change,
  type CountOptions,
  type Entry,
  type ListOptions,
  type Page,
  type ReadOptions,
  type Revision,
  type Storage,
  StorageError,
  type StorageFault,
  type StorageKey,
  type WatchOptions,
  type Write,
} from "../storage/index.ts";

export class FaultyStorage implements Storage {
  readonly #inner: Storage;
  readonly #cuts = new Set<() => void>();
  #isFailing = false;
  #isSilent = false;
  #refused: RegExp | undefined;
  #gate: Promise<void> | undefined;
  /** The number of delayed commits. */
  held = 0;

  constructor(inner: Storage) {
    this.#inner = inner;
  }

  fail(): void {
    this.#isFailing = true;
    for (const cut of this.#cuts) cut();
  }

  /** Writes and reads succeed, and watches get no events. */
  stopWatchEvents(): void {
    this.#isSilent = true;
  }

  recover(): void {
    this.#isFailing = false;
  }

  /** Writes of matching keys fail from here on, and no others. */
  refuse(keys: RegExp): void {
    this.#refused = keys;
  }

  /** Commits are delayed from here on; the returned function releases them. */
  holdCommits(): () => void {
    let release = () => {};
    this.#gate = new Promise((resolve) => {
      release = () => {
        this.#gate = undefined;
        resolve();
      };
    });
    return release;
  }

  async currentRevision(options: CallOptions): Promise<Revision> {
    this.#check();
    return this.#inner.currentRevision(options);
  }

  async get(key: StorageKey, options: ReadOptions): Promise<Entry | undefined> {
    this.#check();
    return this.#inner.get(key, options);
  }

  async list(prefix: StorageKey, options: ListOptions): Promise<Page> {
    this.#check();
    return this.#inner.list(prefix, options);
  }

  async count(prefix: StorageKey, options: CountOptions): Promise<number> {
    this.#check();
    return this.#inner.count(prefix, options);
  }

  async commit(write: Write, options: CallOptions): Promise<Revision> {
    this.#check();
    if (this.#gate !== undefined) {
      this.held++;
      await this.#gate;
      this.held--;
      this.#check();
    }
    if (this.#refused?.test(write.key) === true) throw unavailable();
    return this.#inner.commit(write, options);
  }

  async *watch(
    prefix: StorageKey,
    afterRevision: Revision,
    options: WatchOptions,
  ): AsyncGenerator<Change> {
    this.#check();
    const cutting = new AbortController();
    const cut = () => cutting.abort();
    this.#cuts.add(cut);
    try {
      const signal = AbortSignal.any([options.signal, cutting.signal]);
      for await (const change of this.#inner.watch(prefix, afterRevision, { ...options, signal })) {
        if (!this.#isSilent) yield change;
      }
      if (cutting.signal.aborted) throw unavailable();
    } finally {
      this.#cuts.delete(cut);
    }
  }

  async compact(revision: Revision, options: CallOptions): Promise<void> {
    this.#check();
    await this.#inner.compact(revision, options);
  }

  health(): StorageFault | undefined {
    return this.#isFailing ? { message: "the disk is on fire" } : this.#inner.health();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #check(): void {
    if (this.#isFailing) throw unavailable();
  }
}

function unavailable(): StorageError {
  return new StorageError("unavailable", "the store was told to fail");
}
