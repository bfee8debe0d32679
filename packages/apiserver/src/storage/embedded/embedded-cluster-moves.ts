/**
 * Moves of logical clusters to and from an embedded store.
 *
 * A record is written in one batch with what it says, and is known from the acknowledgement on. So
 * a fence has every earlier write before it, and no later one behind it. Imported objects are
 * written to their places, where the record hides them.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type DataChange, keyOfChange } from "../change-feed.ts";
import { StorageError } from "../errors.ts";
import {
  clusterPrefix,
  parseResourceKey,
  type ResourceKey,
  resourcePrefix,
  type StorageKey,
} from "../key.ts";
import {
  type AnnounceOptions,
  type ClusterMoves,
  type ExportRecord,
  isAnnouncedFirst,
  type MoveRecord,
  relocatedPerBatch,
  revisionMargin,
} from "../moves/cluster-moves.ts";
import { afterDiscard, checkComplete, isAnnounced, newMoveRecord } from "../moves/move-table.ts";
import type { Revision } from "../revision.ts";
import type { CallOptions, Entry } from "../storage.ts";
import type { MaintenanceWrite } from "./batch.ts";
import type { CommitQueue } from "./commit-queue.ts";
import type { EngineOperation } from "./engine.ts";
import { decodeEntry, encodeEntry } from "./entry-record.ts";
import {
  importedKey,
  importedRange,
  moveRange,
  newestKey,
  newestRange,
  parseNewestKey,
} from "./layout.ts";
import type { Meta } from "./meta.ts";
import { decodeImported, decodeMoveRecord, encodeImported } from "./move-records.ts";
import type { StoreState } from "./store-state.ts";

export class EmbeddedClusterMoves implements ClusterMoves {
  readonly #state: StoreState;
  readonly #queue: CommitQueue;
  /** One step at a time: each begins with the record that the one before it left. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(state: StoreState, queue: CommitQueue) {
    this.#state = state;
    this.#queue = queue;
  }

  records(): readonly MoveRecord[] {
    return this.#state.moves.all();
  }

  recordOf(cluster: ClusterName): MoveRecord | undefined {
    return this.#state.moves.get(cluster);
  }

  oldestRevision(cluster: ClusterName): Revision {
    const record = this.recordOf(cluster);
    const { compacted } = this.#state.meta;
    return record !== undefined && record.arrivedAt > compacted ? record.oldest : compacted;
  }

  async *importedChanges(
    cluster: ClusterName,
    after: Revision,
    { signal }: CallOptions,
  ): AsyncGenerator<DataChange> {
    const { engine, directory } = this.#state;
    this.#checkOldest(cluster, after);
    const cursor = engine.scan(importedRange(cluster, after));
    try {
      for (;;) {
        signal.throwIfAborted();
        const pairs = await cursor.next(importedPerSlice);
        // History that was compacted meanwhile may be gone in part.
        this.#checkOldest(cluster, after);
        if (pairs.length === 0) return;
        for (const [key, record] of pairs) yield decodeImported(key, record, directory);
      }
    } finally {
      await cursor.close();
    }
  }

  startExport(cluster: ClusterName, note: string, { signal }: CallOptions): Promise<void> {
    return this.#step(signal, async () => {
      const known = this.recordOf(cluster);
      if (known?.phase === "copying" && known.note === note) return;
      if (known?.phase !== "copying" && known?.phase !== "fenced")
        this.#state.moves.checkHome(cluster);
      const base = known ?? newMoveRecord(cluster, "copying", note);
      await this.#write(cluster, () => ({ ...base, phase: "copying", note }));
    });
  }

  fence(cluster: ClusterName, { signal }: CallOptions): Promise<Revision> {
    return this.#step(signal, async () => {
      const record = this.#state.moves.inPhase(cluster, "copying", "fenced");
      if (record.phase === "copying")
        await this.#write(cluster, ({ revision }) => ({
          ...record,
          phase: "fenced",
          upTo: revision,
        }));
      return this.#state.moves.inPhase(cluster, "fenced").upTo;
    });
  }

  cancelExport(cluster: ClusterName, { signal }: CallOptions): Promise<void> {
    return this.#step(signal, async () => {
      const known = this.recordOf(cluster);
      if (known === undefined || known.phase === "open") return;
      const record = this.#state.moves.inPhase(cluster, "copying", "fenced");
      await this.#write(cluster, () =>
        record.arrivedAt === 0 ? undefined : { ...record, phase: "open" },
      );
    });
  }

  release(cluster: ClusterName, { signal }: CallOptions): Promise<void> {
    return this.#step(signal, async () => {
      const record = this.#state.moves.inPhase(cluster, "fenced", "left", "removed");
      if (record.phase === "fenced")
        await this.#write(cluster, () => ({ ...record, phase: "left" }));
    });
  }

  removeReleased(cluster: ClusterName, { signal }: CallOptions): Promise<void> {
    return this.#step(signal, async () => {
      const record = this.#state.moves.inPhase(cluster, "left", "removed");
      if (record.phase === "removed") return;
      await this.#removeObjects(cluster, signal, () => true);
      await this.#removeImported(cluster, signal);
      await this.#write(cluster, () => ({ ...record, phase: "removed" }));
    });
  }

  startImport(cluster: ClusterName, note: string, { signal }: CallOptions): Promise<void> {
    return this.#step(signal, async () => {
      const known = this.recordOf(cluster);
      if (known?.phase === "importing" && known.note === note) return;
      const record = this.#state.moves.beginImport(cluster, note);
      for await (const _ of this.#keysOf(cluster, signal))
        throw new StorageError("conflict", `the logical cluster ${cluster} is here`);
      await this.#write(cluster, () => record);
    });
  }

  import(
    cluster: ClusterName,
    records: readonly ExportRecord[],
    { signal }: CallOptions,
  ): Promise<MoveRecord> {
    return this.#step(signal, async () => {
      const { negativeLookups } = this.#state;
      const before = this.#state.moves.inPhase(cluster, "importing");
      const batch = new ImportBatch(this.#state, before);
      await batch.load(records);
      for (const each of records) batch.add(each);
      await this.#write(cluster, () => batch.record, { operations: batch.operations() });
      for (const key of batch.keys) negativeLookups.noteCreate(key);
      return batch.record;
    });
  }

  seal(cluster: ClusterName, final: Revision, { signal }: CallOptions): Promise<void> {
    return this.#step(signal, async () => {
      const record = this.#state.moves.inPhase(cluster, "importing", "sealed", "open");
      if (record.phase !== "importing") return;
      checkComplete(record, final);
      const raiseAbove = (final + revisionMargin) as Revision;
      await this.#write(
        cluster,
        ({ revision: arrivedAt }) => ({ ...record, phase: "sealed", upTo: final, arrivedAt }),
        { raiseAbove },
      );
    });
  }

  announce(cluster: ClusterName, { signal, onlyFirst = false }: AnnounceOptions): Promise<void> {
    return this.#step(signal, async () => {
      const record = this.#state.moves.inPhase(cluster, "sealed", "open");
      if (!record.announcedFirst) {
        await this.#announceSome(cluster, signal, isAnnouncedFirst);
        await this.#update(cluster, () => ({ announcedFirst: true, announcedTo: "" }));
      }
      if (onlyFirst || record.announcedAt > 0) return;
      await this.#announceSome(cluster, signal, (resource) => !isAnnouncedFirst(resource));
      await this.#update(cluster, ({ revision }) => ({ announcedAt: revision }));
    });
  }

  async #announceSome(
    cluster: ClusterName,
    signal: AbortSignal,
    filter: (resource: ResourceKey) => boolean,
  ): Promise<void> {
    const { announcedTo, arrivedAt } = this.#state.moves.inPhase(cluster, "sealed", "open");
    const scan = { after: announcedTo as StorageKey, filter };
    for await (const keys of this.#keysOf(cluster, signal, scan))
      await this.#update(
        cluster,
        () => ({ announcedTo: keys.at(-1) ?? "" }),
        (builder) => {
          for (const key of keys) builder.arrive(key, arrivedAt);
        },
      );
  }

  /** Changes the record of a cluster that is here, as it is when the batch is made. */
  async #update(
    cluster: ClusterName,
    change: (meta: Meta) => Partial<MoveRecord>,
    build?: MaintenanceWrite["build"],
  ): Promise<void> {
    const record = (meta: Meta) => ({
      ...this.#state.moves.inPhase(cluster, "sealed", "open"),
      ...change(meta),
    });
    await this.#write(cluster, record, build === undefined ? {} : { build });
  }

  open(cluster: ClusterName, { signal }: CallOptions): Promise<void> {
    return this.#step(signal, async () => {
      const record = this.#state.moves.inPhase(cluster, "sealed", "open");
      if (record.phase === "sealed")
        await this.#write(cluster, () => ({ ...record, phase: "open" }));
    });
  }

  discardImport(cluster: ClusterName, { signal }: CallOptions): Promise<void> {
    return this.#step(signal, async () => {
      const known = this.recordOf(cluster);
      if (known === undefined || known.phase === "removed") return;
      const record = this.#state.moves.inPhase(cluster, "importing", "sealed", "discarding");
      if (record.phase !== "discarding")
        await this.#write(cluster, () => ({ ...record, phase: "discarding" }));
      await this.#removeObjects(cluster, signal, (key) => isAnnounced(record, key));
      await this.#removeImported(cluster, signal);
      await this.#write(cluster, () => afterDiscard(record));
    });
  }

  /**
   * Forgets imported history that the store's own history does not reach any more. Called after
   * compacted history was removed from the disk.
   */
  async forgetOld(signal: AbortSignal): Promise<void> {
    const { swept } = this.#state.meta;
    for (const { cluster, phase, announcedAt } of this.records()) {
      if (phase !== "open" || announcedAt === 0 || announcedAt > swept) continue;
      await this.#step(signal, async () => {
        if (this.recordOf(cluster)?.phase !== "open") return;
        await this.#removeImported(cluster, signal);
        await this.#write(cluster, () => undefined);
      });
    }
  }

  #step<Result>(signal: AbortSignal, body: () => Promise<Result>): Promise<Result> {
    const run = this.#last.then(async () => {
      signal.throwIfAborted();
      try {
        return await body();
      } catch (error) {
        throw this.#state.storageError(error);
      }
    });
    // A failed step rejects its own caller only.
    this.#last = Promise.allSettled([run]);
    return run;
  }

  async #write(
    cluster: ClusterName,
    record: (meta: Meta) => MoveRecord | undefined,
    maintenance: Partial<MaintenanceWrite> = {},
  ): Promise<void> {
    const move = (meta: Meta) => ({ cluster, record: record(meta) });
    await this.#queue.maintenance({ operations: [], ...maintenance, move });
  }

  async #removeObjects(
    cluster: ClusterName,
    signal: AbortSignal,
    isAnnounced: (key: StorageKey) => boolean,
  ): Promise<void> {
    for await (const keys of this.#keysOf(cluster, signal)) {
      const silent = keys.filter((key) => !isAnnounced(key));
      await this.#queue.maintenance({
        operations: silent.map((key) => ({ type: "del", key: newestKey(key) })),
        build: (builder) => {
          for (const key of keys) if (isAnnounced(key)) builder.leave(key);
        },
      });
    }
  }

  async #removeImported(cluster: ClusterName, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const range = { ...importedRange(cluster, -1 as Revision), keysOnly: true };
      const cursor = this.#state.engine.scan(range);
      let operations: EngineOperation[];
      try {
        const pairs = await cursor.next(removedPerBatch);
        operations = pairs.map(([key]) => ({ type: "del", key }));
      } finally {
        await cursor.close();
      }
      if (operations.length === 0) return;
      await this.#queue.maintenance({ operations });
    }
  }

  /** The keys of a cluster in order, some at a time, also while they are hidden. */
  async *#keysOf(
    cluster: ClusterName,
    signal: AbortSignal,
    { after, filter }: KeyScan = {},
  ): AsyncGenerator<readonly StorageKey[]> {
    let behind = "" as StorageKey;
    for (;;) {
      const [next] = await this.#scanKeys("" as StorageKey, behind, 1, signal);
      if (next === undefined) return;
      const resource = parseResourceKey(next);
      behind = `${resourcePrefix(resource)}\x7f` as StorageKey;
      if (filter?.(resource) === false) continue;
      const prefix = clusterPrefix({ ...resource, cluster });
      let last = after;
      for (;;) {
        const keys = await this.#scanKeys(prefix, last, relocatedPerBatch, signal);
        if (keys.length === 0) break;
        yield keys;
        last = keys.at(-1);
      }
    }
  }

  async #scanKeys(
    prefix: StorageKey,
    after: StorageKey | undefined,
    keysMax: number,
    signal: AbortSignal,
  ): Promise<readonly StorageKey[]> {
    signal.throwIfAborted();
    if (after !== undefined && after > `${prefix}\x7f` && prefix !== "") return [];
    const cursor = this.#state.engine.scan({ ...newestRange(prefix, after), keysOnly: true });
    try {
      return (await cursor.next(keysMax)).map(([key]) => parseNewestKey(key));
    } finally {
      await cursor.close();
    }
  }

  #checkOldest(cluster: ClusterName, after: Revision): void {
    const oldest = this.oldestRevision(cluster);
    if (after >= oldest) return;
    const message = `revision ${after} is older than the history that came with ${cluster}`;
    throw new StorageError("compacted", message, { oldest });
  }
}

interface KeyScan {
  readonly after?: StorageKey;
  readonly filter?: (resource: ResourceKey) => boolean;
}

/** The records of one import call, against what is imported already. */
class ImportBatch {
  readonly #state: StoreState;
  readonly #entries = new Map<StorageKey, Entry | undefined>();
  readonly #written = new Set<StorageKey>();
  readonly #log: EngineOperation[] = [];
  record: MoveRecord;

  constructor(state: StoreState, record: MoveRecord) {
    this.#state = state;
    this.record = record;
  }

  get keys(): Iterable<StorageKey> {
    return this.#written;
  }

  async load(records: readonly ExportRecord[]): Promise<void> {
    const keys = [...new Set(records.flatMap(keysOfRecord))];
    const found = await this.#state.engine.getMany(keys.map(newestKey));
    for (const [at, key] of keys.entries()) {
      const bytes = found[at];
      const entry =
        bytes === undefined ? undefined : decodeEntry(key, bytes, this.#state.directory);
      this.#entries.set(key, entry);
    }
  }

  add(each: ExportRecord): void {
    const { record } = this;
    if (each.kind === "progress") {
      if (each.revision > record.upTo) this.record = { ...record, upTo: each.revision };
    } else if (each.kind === "stateEnd") {
      const { oldest } = each;
      this.record = { ...record, hasState: true, upTo: oldest, oldest };
    } else if (each.kind === "state") {
      this.#replace(each.entry.key, each.entry, each.entry.modifiedAt);
    } else if (each.change.revision > record.upTo) {
      const { change } = each;
      const { revision } = change;
      const key = importedKey(record.cluster, revision);
      this.#log.push({ type: "put", key, value: encodeImported(change) });
      this.#replace(
        keyOfChange(change),
        change.kind === "put" ? change.entry : undefined,
        revision,
      );
      this.record = { ...record, upTo: revision };
    }
  }

  operations(): EngineOperation[] {
    const operations = this.#log;
    for (const key of this.#written) {
      const entry = this.#entries.get(key);
      const engineKey = newestKey(key);
      if (entry === undefined) {
        operations.push({ type: "del", key: engineKey });
        continue;
      }
      const { record } = encodeEntry(key, entry.value, entry.createdAt, entry.modifiedAt);
      operations.push({ type: "put", key: engineKey, value: record });
    }
    return operations;
  }

  /** The state that was read last may have the outcome of later changes already. */
  #replace(key: StorageKey, entry: Entry | undefined, revision: Revision): void {
    const known = this.#entries.get(key);
    if (known !== undefined && known.modifiedAt >= revision) return;
    this.#entries.set(key, entry);
    this.#written.add(key);
  }
}

/** Reads the records when the store is opened. */
export async function loadMoves(state: StoreState): Promise<void> {
  const cursor = state.engine.scan(moveRange);
  try {
    for (;;) {
      const pairs = await cursor.next(1000);
      if (pairs.length === 0) return;
      for (const [engineKey, bytes] of pairs) {
        const record = decodeMoveRecord(engineKey.slice(1), bytes, state.directory);
        state.moves.set(record.cluster, record);
      }
    }
  } finally {
    await cursor.close();
  }
}

function keysOfRecord(record: ExportRecord): readonly StorageKey[] {
  if (record.kind === "state") return [record.entry.key];
  return record.kind === "change" ? [keyOfChange(record.change)] : [];
}

const importedPerSlice = 64;
const removedPerBatch = 1000;
