/**
 * One batch for the engine: writes that are evaluated in order, each against the outcome of those
 * before it, and counters.
 */
import type { DataChange } from "../change-feed.ts";
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { Entry, Write } from "../storage.ts";
import type { EngineOperation } from "./engine.ts";
import { encodeEntry } from "./entry-record.ts";
import { encodeHistoryGroup, type KeyChange } from "./history-group.ts";
import { deletionKey, historyKey, metaKey, newestKey, oldKey } from "./layout.ts";
import { encodeMeta, type Meta } from "./meta.ts";

/** The operations that are written to the engine and become the state when they are durable. */
export interface Batch {
  readonly operations: readonly EngineOperation[];
  readonly changes: readonly DataChange[];
  /** The counters after the batch. */
  readonly meta: Meta;
  /** Identifies the batch on disk after a failure; undefined when it changes no keys. */
  readonly history: { readonly key: string; readonly record: Buffer } | undefined;
}

/** Maintenance of the store itself, which is added to the next batch. */
export interface MaintenanceWrite {
  readonly operations: readonly EngineOperation[];
  readonly changeMeta: (meta: Meta) => Meta;
}

export class BatchBuilder {
  readonly #before: Meta;
  readonly #lookup: (key: StorageKey) => Entry | undefined;
  readonly #entries = new Map<StorageKey, Entry | undefined>();
  readonly #operations: EngineOperation[] = [];
  readonly #changes: DataChange[] = [];
  readonly #keyChanges: KeyChange[] = [];
  #oldBytes = 0;
  #bytes = 0;

  /** `lookup` reads the acknowledged state. */
  constructor(before: Meta, lookup: (key: StorageKey) => Entry | undefined) {
    this.#before = before;
    this.#lookup = lookup;
  }

  get writes(): number {
    return this.#changes.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether the batch writes this key. */
  changes(key: StorageKey): boolean {
    return this.#entries.has(key);
  }

  /** Throws `conflict` and adds nothing when the key is not at the expected revision. */
  add(write: Write): Revision {
    const { key } = write;
    const previous = this.#entries.has(key) ? this.#entries.get(key) : this.#lookup(key);
    const expected = write.expected === "absent" ? undefined : write.expected;
    if (previous?.modifiedAt !== expected) {
      throw new StorageError("conflict", `key ${key} is not at revision ${write.expected}`, {
        current: previous?.modifiedAt,
      });
    }
    const revision = (this.#before.revision + this.#changes.length + 1) as Revision;
    const previousAt = previous?.modifiedAt;
    if (write.value === "delete") {
      if (previous === undefined)
        throw new StorageError("conflict", `key ${key} is absent and cannot be deleted`);
      this.#delete(previous, revision);
      this.#keyChanges.push({ kind: "delete", key, revision, previousAt });
      return revision;
    }
    const createdAt = previous?.createdAt ?? revision;
    const { record, entry } = encodeEntry(key, write.value, createdAt, revision);
    if (previous !== undefined) this.#keepOldVersion(previous);
    this.#put(newestKey(key), record);
    this.#entries.set(key, entry);
    this.#changes.push({ kind: "put", entry, previous, revision });
    this.#keyChanges.push({ kind: "put", key, revision, previousAt });
    return revision;
  }

  finish(upkeep: MaintenanceWrite | undefined): Batch {
    const operations = this.#operations;
    let meta = this.#before;
    let history: Batch["history"];
    if (this.#keyChanges.length > 0) {
      const revision = (meta.revision + this.#keyChanges.length) as Revision;
      const record = encodeHistoryGroup(this.#keyChanges, this.#oldBytes);
      history = { key: historyKey(revision, this.#keyChanges.length), record };
      this.#put(history.key, record);
      meta = {
        ...meta,
        revision,
        historyBytes: meta.historyBytes + this.#oldBytes + record.length,
      };
    }
    if (upkeep !== undefined) {
      operations.push(...upkeep.operations);
      meta = upkeep.changeMeta(meta);
    }
    this.#put(metaKey, encodeMeta(meta));
    return { operations, changes: this.#changes, meta, history };
  }

  #delete(previous: Entry, revision: Revision): void {
    const { key } = previous;
    this.#keepOldVersion(previous);
    this.#operations.push({ type: "del", key: newestKey(key) });
    this.#put(deletionKey(key, revision), mark);
    this.#entries.set(key, undefined);
    this.#changes.push({ kind: "delete", previous, revision });
  }

  #keepOldVersion({ key, value, createdAt, modifiedAt }: Entry): void {
    const { record } = encodeEntry(key, value, createdAt, modifiedAt);
    this.#oldBytes += record.length + key.length;
    this.#put(oldKey(key, modifiedAt), record);
  }

  #put(key: string, value: Buffer): void {
    this.#bytes += key.length + value.length;
    this.#operations.push({ type: "put", key, value });
  }
}

/** Only the existence of this record has a meaning. Older stores have empty values in its place. */
const mark = Buffer.alloc(1);
