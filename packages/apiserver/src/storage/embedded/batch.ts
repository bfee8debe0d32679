/**
 * One batch for the engine: writes that are evaluated in order, each against the outcome of those
 * before it, and counters.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { DataChange } from "../change-feed.ts";
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import type { MoveRecord } from "../moves/cluster-moves.ts";
import type { Revision } from "../revision.ts";
import type { Entry, Write } from "../storage.ts";
import type { EngineOperation } from "./engine.ts";
import { encodeEntry } from "./entry-record.ts";
import { encodeHistoryGroup, type KeyChange } from "./history-group.ts";
import { deletionKey, historyKey, jumpKey, metaKey, moveKey, newestKey, oldKey } from "./layout.ts";
import { encodeMeta, type Meta } from "./meta.ts";
import { encodeMoveRecord } from "./move-records.ts";

/** The operations that are written to the engine and become the state when they are durable. */
export interface Batch {
  readonly operations: readonly EngineOperation[];
  readonly changes: readonly DataChange[];
  /** The counters after the batch. */
  readonly meta: Meta;
  /** Identifies the batch on disk after a failure; undefined when it changes no keys. */
  readonly history: { readonly key: string; readonly record: Buffer } | undefined;
  readonly move: MoveUpdate | undefined;
}

/** Maintenance of the store itself, which is added to the next batch. */
export interface MaintenanceWrite {
  readonly operations: readonly EngineOperation[];
  readonly changeMeta?: (meta: Meta) => Meta;
  /** Adds relocations, and operations that depend on the state; called when the batch is made. */
  readonly build?: (builder: BatchBuilder) => void;
  /** The counter is above this revision after the batch. */
  readonly raiseAbove?: Revision;
  /** The record of a move, which depends on the counters after the batch. */
  readonly move?: (meta: Meta) => MoveUpdate;
}

export interface MoveUpdate {
  readonly cluster: ClusterName;
  readonly record: MoveRecord | undefined;
}

export class BatchBuilder {
  readonly #before: Meta;
  readonly #lookup: (key: StorageKey) => Entry | undefined;
  readonly #versionOf: (entry: Entry) => Revision;
  readonly #entries = new Map<StorageKey, Entry | undefined>();
  readonly #operations: EngineOperation[] = [];
  readonly #changes: DataChange[] = [];
  readonly #keyChanges: KeyChange[] = [];
  #oldBytes = 0;
  #bytes = 0;

  /** `lookup` reads the acknowledged state. */
  constructor(
    before: Meta,
    lookup: (key: StorageKey) => Entry | undefined,
    versionOf: (entry: Entry) => Revision,
  ) {
    this.#before = before;
    this.#lookup = lookup;
    this.#versionOf = versionOf;
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
    const previous = this.#entryOf(key);
    const expected = write.expected === "absent" ? undefined : write.expected;
    if (previous?.modifiedAt !== expected) {
      throw new StorageError("conflict", `key ${key} is not at revision ${write.expected}`, {
        current: previous?.modifiedAt,
      });
    }
    const revision = (this.#before.revision + this.#changes.length + 1) as Revision;
    const previousAt = previous && this.#versionOf(previous);
    if (write.value === "delete") {
      if (previous === undefined)
        throw new StorageError("conflict", `key ${key} is absent and cannot be deleted`);
      this.#delete(previous, revision);
      this.#changes.push({ kind: "delete", previous, revision });
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

  /** Announces an entry that came with its cluster, unless it has changed since. */
  arrive(key: StorageKey, arrivedAt: Revision): void {
    const entry = this.#entryOf(key);
    if (entry === undefined || entry.modifiedAt >= arrivedAt) return;
    const revision = (this.#before.revision + this.#changes.length + 1) as Revision;
    const relocation = true;
    this.#changes.push({ kind: "put", entry, previous: undefined, revision, relocation });
    const change = { kind: "put", key, revision, previousAt: undefined } as const;
    this.#keyChanges.push({ ...change, arrivedAt, relocation });
  }

  /** Removes an entry that left with its cluster. */
  leave(key: StorageKey): void {
    const previous = this.#entryOf(key);
    if (previous === undefined) return;
    const revision = (this.#before.revision + this.#changes.length + 1) as Revision;
    const relocation = true;
    this.#delete(previous, revision);
    this.#changes.push({ kind: "delete", previous, revision, relocation });
    const previousAt = this.#versionOf(previous);
    this.#keyChanges.push({ kind: "delete", key, revision, previousAt, relocation });
  }

  finish(upkeep: MaintenanceWrite | undefined): Batch {
    upkeep?.build?.(this);
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
      for (const operation of upkeep.operations) operations.push(operation);
      const { raiseAbove } = upkeep;
      if (raiseAbove !== undefined) meta = this.#jump(meta, raiseAbove);
      meta = upkeep.changeMeta?.(meta) ?? meta;
    }
    const move = upkeep?.move?.(meta);
    if (move !== undefined) this.#putMove(move);
    this.#put(metaKey, encodeMeta(meta));
    return { operations, changes: this.#changes, meta, history, move };
  }

  /** History has no gap: a jump is a group without changes. */
  #jump(meta: Meta, above: Revision): Meta {
    const last = (Math.max(above, meta.revision) + 1) as Revision;
    const record = encodeHistoryGroup([], 0);
    this.#put(jumpKey((meta.revision + 1) as Revision, last), record);
    return { ...meta, revision: last, historyBytes: meta.historyBytes + record.length };
  }

  #putMove({ cluster, record }: MoveUpdate): void {
    const key = moveKey(cluster);
    if (record === undefined) this.#operations.push({ type: "del", key });
    else this.#put(key, encodeMoveRecord(record));
  }

  #entryOf(key: StorageKey): Entry | undefined {
    return this.#entries.has(key) ? this.#entries.get(key) : this.#lookup(key);
  }

  #delete(previous: Entry, revision: Revision): void {
    const { key } = previous;
    this.#keepOldVersion(previous);
    this.#operations.push({ type: "del", key: newestKey(key) });
    this.#put(deletionKey(key, revision), mark);
    this.#entries.set(key, undefined);
  }

  #keepOldVersion(entry: Entry): void {
    const { key, value, createdAt, modifiedAt } = entry;
    const { record } = encodeEntry(key, value, createdAt, modifiedAt);
    this.#oldBytes += record.length + key.length;
    this.#put(oldKey(key, this.#versionOf(entry)), record);
  }

  #put(key: string, value: Buffer): void {
    this.#bytes += key.length + value.length;
    this.#operations.push({ type: "put", key, value });
  }
}

/** Only the existence of this record has a meaning. Older stores have empty values in its place. */
const mark = Buffer.alloc(1);
