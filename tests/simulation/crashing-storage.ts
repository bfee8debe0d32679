/**
 * The disk of a control plane that can crash: what was stored stays, and the process that has
 * crashed neither reads nor writes nor hears of anything any more.
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
  type StorageKey,
  type WatchOptions,
  type Write,
} from "@kcp-ts/apiserver/storage";

export type BeforeCommit = (write: Write) => "commit" | "crash-before" | "crash-after" | "full";

export interface CrashingStorageOptions {
  readonly disk: Storage;
  readonly beforeCommit: BeforeCommit;
  readonly onCommit: (write: Write, revision: Revision) => void;
  /** The process ends in the middle of this call. */
  readonly onCrash: () => void;
}

export class CrashingStorage implements Storage {
  readonly #options: CrashingStorageOptions;
  readonly #ending = new AbortController();

  constructor(options: CrashingStorageOptions) {
    this.#options = options;
  }

  /** No call returns from now on, as for a process that does not exist. */
  end(): void {
    this.#ending.abort();
  }

  async currentRevision(options: CallOptions): Promise<Revision> {
    return this.#alive(await this.#options.disk.currentRevision(options));
  }

  async get(key: StorageKey, options: ReadOptions): Promise<Entry | undefined> {
    return this.#alive(await this.#options.disk.get(key, options));
  }

  peek(key: StorageKey): Entry | undefined {
    return this.#ending.signal.aborted ? undefined : this.#options.disk.peek?.(key);
  }

  async list(prefix: StorageKey, options: ListOptions): Promise<Page> {
    return this.#alive(await this.#options.disk.list(prefix, options));
  }

  async count(prefix: StorageKey, options: CountOptions): Promise<number> {
    return this.#alive(await this.#options.disk.count(prefix, options));
  }

  async commit(write: Write, options: CallOptions): Promise<Revision> {
    const { disk, beforeCommit, onCommit, onCrash } = this.#options;
    await this.#alive(undefined);
    const fate = beforeCommit(write);
    if (fate === "full")
      throw new StorageError(
        "unavailable",
        "the disk is full: nothing is written until it has room",
      );
    if (fate === "crash-before") {
      onCrash();
      return never();
    }
    const revision = await disk.commit(write, options);
    onCommit(write, revision);
    if (fate === "crash-after") onCrash();
    return this.#alive(revision);
  }

  async *watch(
    prefix: StorageKey,
    afterRevision: Revision,
    options: WatchOptions,
  ): AsyncGenerator<Change> {
    const signal = AbortSignal.any([options.signal, this.#ending.signal]);
    yield* this.#options.disk.watch(prefix, afterRevision, { ...options, signal });
    await this.#alive(undefined);
  }

  async compact(revision: Revision, options: CallOptions): Promise<void> {
    return this.#alive(await this.#options.disk.compact(revision, options));
  }

  health() {
    return this.#options.disk.health();
  }

  /** The disk outlives the process. */
  async close(): Promise<void> {}

  async #alive<Value>(value: Value): Promise<Value> {
    return this.#ending.signal.aborted ? never() : value;
  }
}

function never<Value>(): Promise<Value> {
  return new Promise(() => {});
}
