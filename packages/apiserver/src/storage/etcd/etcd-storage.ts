/**
 * Storage in an etcd cluster (3.4 or newer): for more than one machine.
 *
 * Revisions are etcd's own. Every read is linearizable. A write with an unknown outcome is never
 * retried: it ends with `unavailable`. The history is etcd's and is kept until a client compacts
 * it.
 */
import { assert, type Clock, neverAborted, type Random } from "@kcp-ts/machinery/base";
import { GrpcError, parseEndpoint, type TlsOptions } from "../../grpc/index.ts";
import { isStorageError, StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import { type Revision, toRevision } from "../revision.ts";
import type { OpenSnapshot, SnapshotSource } from "../snapshot.ts";
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
import { toEntry } from "./entry.ts";
import { EtcdClient } from "./etcd-client.ts";
import { toStorageError } from "./etcd-error.ts";
import { EtcdHealth } from "./etcd-health.ts";
import { isPartiallyRestored, type RestoredSnapshot, restoreEntries } from "./etcd-snapshot.ts";
import { EtcdWatch } from "./etcd-watch.ts";
import { KeySpace } from "./key-space.ts";
import { findOldestRevision } from "./oldest-revision.ts";
import { rangeChunks } from "./range-chunks.ts";
import { SingleFlight } from "./single-flight.ts";

export interface EtcdStorageOptions {
  /** `https://host:2379` or `http://host:2379`, one per member. */
  readonly endpoints: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  /** The prefix of all stored keys. */
  readonly prefix?: string;
  /**
   * For https endpoints; a function is called at each new connection, so that renewed certificates
   * are used.
   */
  readonly tls?: TlsOptions | (() => TlsOptions);
  readonly username?: string;
  readonly password?: string;
  /** A call that takes longer fails with `unavailable`. */
  readonly requestTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /**
   * At least 5 s, or etcd's --grpc-keepalive-min-time must be lowered: etcd disconnects clients
   * that ping more often.
   */
  readonly keepaliveIntervalMs?: number;
  readonly keepaliveTimeoutMs?: number;
  /**
   * The time that calls wait for a connection when every endpoint fails, before they fail at once.
   */
  readonly outageGraceMs?: number;
  /** A larger write is rejected here; etcd has its own limit, --max-request-bytes. */
  readonly requestBytesMax?: number;
  readonly responseBytesMax?: number;
  /** Lists are read from etcd in responses of about this size. */
  readonly chunkBytesTarget?: number;
  readonly healthIntervalMs?: number;
}

const defaults = {
  prefix: "/kcp",
  requestTimeoutMs: 10_000,
  connectTimeoutMs: 3000,
  keepaliveIntervalMs: 10_000,
  keepaliveTimeoutMs: 5000,
  outageGraceMs: 3000,
  requestBytesMax: 2 << 20,
  responseBytesMax: 512 << 20,
  chunkBytesTarget: 1 << 20,
  healthIntervalMs: 5000,
};

export class EtcdStorage implements Storage, SnapshotSource {
  readonly #options: EtcdStorageOptions & typeof defaults;
  readonly #keySpace: KeySpace;
  readonly #client: EtcdClient;
  readonly #health: EtcdHealth;
  readonly #revisionFlight: SingleFlight<Revision>;
  readonly #oldestFlight: SingleFlight<Revision | undefined>;
  readonly #markerFlight: SingleFlight<Revision>;
  readonly #watches = new Set<EtcdWatch>();
  readonly #writes = new Set<Promise<unknown>>();
  #closed = false;

  private constructor(given: EtcdStorageOptions) {
    const options = { ...defaults, ...given };
    const { tls, username, password } = options;
    this.#options = options;
    this.#keySpace = new KeySpace(options.prefix);
    this.#client = new EtcdClient({
      ...options,
      endpoints: options.endpoints.map(parseEndpoint),
      tls: typeof tls === "function" ? tls : tls === undefined ? undefined : () => tls,
      credentials: username === undefined ? undefined : { username, password: password ?? "" },
      onOutcome: (error) => this.#health.recordOutcome(error),
    });
    this.#revisionFlight = new SingleFlight(() => this.#fetchRevision());
    this.#oldestFlight = new SingleFlight(() =>
      findOldestRevision(this.#client, this.#keySpace, options.clock),
    );
    this.#markerFlight = new SingleFlight(() => this.#writeMarker());
    this.#health = new EtcdHealth({
      clock: options.clock,
      intervalMs: options.healthIntervalMs,
      endpoints: options.endpoints.join(", "),
      probe: () => this.#revisionFlight.run(neverAborted),
      status: () => this.#client.status(neverAborted),
      connectionProblem: () => this.#client.channel.problem(),
    });
  }

  /**
   * Connects and reads once, so that wrong addresses, certificates and passwords, and an incomplete
   * backup, fail at the start.
   */
  static async open(options: EtcdStorageOptions): Promise<EtcdStorage> {
    const storage = new EtcdStorage(options);
    try {
      await storage.#checkRoot();
    } catch (error) {
      await storage.close();
      throw error;
    }
    storage.#health.start();
    return storage;
  }

  async #checkRoot(): Promise<void> {
    const { root, prefix } = this.#keySpace;
    const answer = await this.#translate("read", () =>
      this.#client.range({ key: root }, neverAborted),
    );
    if (!isPartiallyRestored(answer.kvs[0]?.value)) return;
    throw new StorageError(
      "corrupt",
      `etcd holds a part of a backup under the prefix ${prefix}: a restore was interrupted, or is still running; delete the keys that begin with ${prefix}/ (etcdctl del --prefix ${prefix}/) and restore again, or restore under another --etcd-prefix`,
    );
  }

  async currentRevision({ signal }: CallOptions): Promise<Revision> {
    this.#enter(signal);
    return this.#translate("read", () => this.#revisionFlight.run(signal));
  }

  async get(key: StorageKey, { signal, atRevision }: ReadOptions): Promise<Entry | undefined> {
    this.#enter(signal);
    const request = { key: this.#keySpace.encode(key), revision: BigInt(atRevision ?? 0) };
    const answer = await this.#translate("read", () => this.#client.range(request, signal));
    const pair = answer.kvs[0];
    return pair === undefined ? undefined : toEntry(pair, this.#keySpace);
  }

  async list(prefix: StorageKey, options: ListOptions): Promise<Page> {
    this.#enter(options.signal);
    assert(options.entriesMax > 0, "a list asks for at least one entry");
    return this.#translate("list", async () => {
      const entries: Entry[] = [];
      let page: Page | undefined;
      for await (const chunk of this.#chunks(prefix, options)) {
        for (const entry of chunk.entries) entries.push(entry);
        page = { entries, revision: chunk.revision, more: chunk.more };
      }
      assert(page !== undefined, "a range has at least one chunk");
      return page;
    });
  }

  async count(prefix: StorageKey, options: CountOptions): Promise<number> {
    this.#enter(options.signal);
    const range = this.#keySpace.range(prefix, options.continueAfter);
    const request = { ...range, countOnly: true, revision: BigInt(options.atRevision ?? 0) };
    const answer = await this.#translate("count", () =>
      this.#client.range(request, options.signal),
    );
    return Number(answer.count);
  }

  async commit(write: Write, { signal }: CallOptions): Promise<Revision> {
    this.#enter(signal);
    const key = this.#keySpace.encode(write.key);
    const bytes = key.length + (write.value === "delete" ? 0 : write.value.length);
    const { requestBytesMax } = this.#options;
    if (bytes > requestBytesMax) {
      const message = `${write.key} has ${bytes} bytes, the limit is ${requestBytesMax}`;
      throw new StorageError("too-large", message);
    }
    // A key that is absent has revision 0. No key has -1: deleting a key that must be absent is
    // always a conflict.
    const absent = write.value === "delete" ? -1n : 0n;
    const expected = write.expected === "absent" ? absent : BigInt(write.expected);
    const answer = await this.#write(() =>
      this.#client.txn(
        {
          compare: [
            { key, result: 0, target: 2, targetUnion: { case: "modRevision", value: expected } },
          ],
          success: [
            write.value === "delete"
              ? { request: { case: "requestDeleteRange", value: { key } } }
              : { request: { case: "requestPut", value: { key, value: write.value } } },
          ],
          failure: [{ request: { case: "requestRange", value: { key, keysOnly: true } } }],
        },
        signal,
      ),
    );
    if (answer.succeeded) return toRevision(answer.header?.revision ?? 0n);
    const found = answer.responses[0]?.response;
    const pair = found?.case === "responseRange" ? found.value.kvs[0] : undefined;
    throw new StorageError("conflict", `key ${write.key} is not at revision ${write.expected}`, {
      current: pair === undefined ? undefined : toRevision(pair.modRevision),
    });
  }

  async *watch(
    prefix: StorageKey,
    afterRevision: Revision,
    options: WatchOptions,
  ): AsyncGenerator<Change> {
    this.#enter(options.signal);
    const watch = new EtcdWatch(
      {
        client: this.#client,
        keySpace: this.#keySpace,
        clock: this.#options.clock,
        random: this.#options.random,
        currentRevision: () => this.#revisionFlight.run(neverAborted),
        writeMarker: () => this.#markerFlight.run(neverAborted),
        checkHistory: (revision, signal) => this.#checkHistory(revision, signal),
        readAt: (key, atRevision, signal) => this.get(key, { atRevision, signal }),
      },
      prefix,
      afterRevision,
      options,
    );
    this.#watches.add(watch);
    try {
      yield* watch.read();
    } finally {
      this.#watches.delete(watch);
    }
  }

  requestProgress(): boolean {
    let all = true;
    for (const watch of this.#watches) all = watch.requestProgress() && all;
    return all;
  }

  async compact(revision: Revision, { signal }: CallOptions): Promise<void> {
    this.#enter(signal);
    try {
      await this.#translate("compact", () =>
        this.#client.compact({ revision: BigInt(revision) }, signal),
      );
    } catch (error) {
      if (!isStorageError(error, "compacted")) throw error;
    }
  }

  /**
   * Reads ahead by one chunk only, so etcd must keep the revision until the end: the entries throw
   * `compacted` when a compaction overtakes them.
   */
  async openSnapshot({ signal }: CallOptions): Promise<OpenSnapshot> {
    const revision = await this.currentRevision({ signal });
    return { revision, entries: this.#snapshotEntries(revision, signal), close: async () => {} };
  }

  /**
   * Writes a backup into this store, which must be empty. Revisions are etcd's and cannot be kept:
   * every entry gets new ones. Not atomic: after a failure the prefix has a part of the entries,
   * with a marker that prevents opening it, and must be emptied before a second attempt.
   */
  async restore(
    entries: AsyncIterable<Pick<Entry, "key" | "value">>,
    options: CallOptions,
  ): Promise<RestoredSnapshot> {
    if ((await this.count("" as StorageKey, options)) > 0) {
      throw new StorageError("conflict", `the prefix ${this.#keySpace.prefix} is not empty`);
    }
    const { requestBytesMax } = this.#options;
    const context = {
      client: this.#client,
      keySpace: this.#keySpace,
      requestBytesMax,
      beforeBatch: () => this.#enter(options.signal),
    };
    return this.#write(() => restoreEntries(context, entries, options));
  }

  health(): StorageFault | undefined {
    return this.#closed ? { message: "the store is closed" } : this.#health.fault();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#health.stop();
    const reason = new StorageError("closed", "the store was closed");
    for (const watch of this.#watches) watch.fail(reason);
    await Promise.allSettled(this.#writes);
    this.#client.close(reason);
  }

  #chunks(prefix: StorageKey, options: ListOptions) {
    return rangeChunks({
      client: this.#client,
      keySpace: this.#keySpace,
      range: this.#keySpace.range(prefix, options.continueAfter),
      entriesMax: options.entriesMax,
      atRevision: options.atRevision,
      chunkBytesTarget: this.#options.chunkBytesTarget,
      signal: options.signal,
    });
  }

  async *#snapshotEntries(atRevision: Revision, signal: AbortSignal): AsyncGenerator<Entry> {
    const options = { atRevision, signal, entriesMax: Number.MAX_SAFE_INTEGER };
    const chunks = this.#chunks("" as StorageKey, options);
    for (;;) {
      const next = await this.#translate("snapshot", () => chunks.next());
      if (next.done === true) return;
      yield* next.value.entries;
    }
  }

  async #fetchRevision(): Promise<Revision> {
    const request = { key: this.#keySpace.root, countOnly: true };
    const answer = await this.#client.range(request, neverAborted);
    return toRevision(answer.header?.revision ?? 0n);
  }

  async #writeMarker(): Promise<Revision> {
    const value = { key: this.#keySpace.root, value: new Uint8Array() };
    const request = { success: [{ request: { case: "requestPut", value } as const }] };
    const answer = await this.#client.txn(request, neverAborted);
    return toRevision(answer.header?.revision ?? 0n);
  }

  /** Resolves to the newest revision if all changes after `revision` can be watched. */
  #checkHistory(revision: Revision, signal: AbortSignal): Promise<Revision> {
    // etcd begins at revision 1, and 0 means "newest".
    const request = {
      key: this.#keySpace.root,
      countOnly: true,
      revision: BigInt(Math.max(1, revision)),
    };
    return this.#translate("watch", async () => {
      const answer = await this.#client.range(request, signal);
      return toRevision(answer.header?.revision ?? 0n);
    });
  }

  async #write<T>(action: () => Promise<T>): Promise<T> {
    const writing = this.#translate("write", action);
    this.#writes.add(writing);
    try {
      return await writing;
    } finally {
      this.#writes.delete(writing);
    }
  }

  /**
   * Runs a call and converts etcd's errors to storage errors, with the revisions that they lack.
   */
  async #translate<T>(operation: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      if (this.#closed && error instanceof GrpcError) {
        throw new StorageError("closed", "the store was closed", { cause: error });
      }
      if (!(error instanceof GrpcError)) throw error;
      const translated = toStorageError(error, operation);
      if (translated.code === "compacted") {
        const oldest = await this.#oldestFlight.run(neverAborted);
        throw toStorageError(error, operation, { oldest });
      }
      if (translated.code === "future") {
        // Only improves the error message, so it may fail.
        const current = await this.#revisionFlight.run(neverAborted).catch(() => undefined);
        throw toStorageError(error, operation, { current });
      }
      throw translated;
    }
  }

  #enter(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#closed) throw new StorageError("closed", "the store was closed");
  }
}
