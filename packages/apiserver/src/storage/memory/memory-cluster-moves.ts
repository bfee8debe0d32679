/** Moves of logical clusters to and from a memory store. Every step takes one turn. */
import type { SortedMap } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { ChangeFeed, DataChange } from "../change-feed.ts";
import { StorageError } from "../errors.ts";
import { parseResourceKey } from "../key.ts";
import {
  type AnnounceOptions,
  type ClusterMoves,
  type ExportRecord,
  isAnnouncedFirst,
  type MoveRecord,
  relocatedPerBatch,
  revisionMargin,
} from "../moves/cluster-moves.ts";
import {
  afterDiscard,
  checkComplete,
  clusterUnder,
  isAnnounced,
  MoveTable,
  newMoveRecord,
} from "../moves/move-table.ts";
import type { Revision } from "../revision.ts";
import type { CallOptions, Entry } from "../storage.ts";

export interface MemoryMovesOptions {
  readonly entries: SortedMap<Entry>;
  readonly feed: ChangeFeed;
  /** Raises the counter above a revision, and above its present. */
  readonly raise: (above: number) => Revision;
  readonly current: () => Revision;
}

export class MemoryClusterMoves implements ClusterMoves {
  readonly table = new MoveTable();
  readonly #options: MemoryMovesOptions;
  /** The imported changes of arrived clusters, in order. */
  readonly #imported = new Map<ClusterName, DataChange[]>();

  constructor(options: MemoryMovesOptions) {
    this.#options = options;
  }

  records(): readonly MoveRecord[] {
    return this.table.all();
  }

  recordOf(cluster: ClusterName): MoveRecord | undefined {
    return this.table.get(cluster);
  }

  oldestRevision(cluster: ClusterName): Revision {
    const record = this.table.get(cluster);
    const { tailStart } = this.#options.feed;
    return record !== undefined && record.arrivedAt > tailStart ? record.oldest : tailStart;
  }

  async *importedChanges(
    cluster: ClusterName,
    after: Revision,
    { signal }: CallOptions,
  ): AsyncGenerator<DataChange> {
    for (const change of this.changesOf(cluster, after)) {
      signal.throwIfAborted();
      yield change;
    }
  }

  changesOf(cluster: ClusterName, after: Revision): readonly DataChange[] {
    const oldest = this.oldestRevision(cluster);
    if (after < oldest)
      throw new StorageError("compacted", `revision ${after} is older than the history`, {
        oldest,
      });
    return (this.#imported.get(cluster) ?? []).filter(({ revision }) => revision > after);
  }

  async startExport(cluster: ClusterName, note: string, { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const known = this.table.get(cluster);
    if (known?.phase === "copying" && known.note === note) return;
    if (known?.phase !== "copying" && known?.phase !== "fenced") this.table.checkHome(cluster);
    const base = known ?? newMoveRecord(cluster, "open", "");
    this.table.set(cluster, { ...base, phase: "copying", note });
  }

  async fence(cluster: ClusterName, { signal }: CallOptions): Promise<Revision> {
    signal.throwIfAborted();
    const record = this.table.inPhase(cluster, "copying", "fenced");
    if (record.phase === "fenced") return record.upTo;
    const upTo = this.#options.current();
    this.table.set(cluster, { ...record, phase: "fenced", upTo });
    return upTo;
  }

  async cancelExport(cluster: ClusterName, { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const known = this.table.get(cluster);
    if (known === undefined || known.phase === "open") return;
    const record = this.table.inPhase(cluster, "copying", "fenced");
    this.table.set(cluster, record.arrivedAt === 0 ? undefined : { ...record, phase: "open" });
  }

  async release(cluster: ClusterName, { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const record = this.table.inPhase(cluster, "fenced", "left", "removed");
    if (record.phase === "fenced") this.table.set(cluster, { ...record, phase: "left" });
  }

  async removeReleased(cluster: ClusterName, { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const record = this.table.inPhase(cluster, "left", "removed");
    if (record.phase === "removed") return;
    for (const entry of this.#entriesOf(cluster)) this.#relocateOut(entry);
    this.#imported.delete(cluster);
    this.table.set(cluster, { ...record, phase: "removed" });
  }

  async startImport(cluster: ClusterName, note: string, { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const known = this.table.get(cluster);
    if (known?.phase === "importing" && known.note === note) return;
    const record = this.table.beginImport(cluster, note);
    if (this.#entriesOf(cluster).length > 0)
      throw new StorageError("conflict", `the logical cluster ${cluster} is here`);
    this.#imported.set(cluster, []);
    this.table.set(cluster, record);
  }

  async import(
    cluster: ClusterName,
    records: readonly ExportRecord[],
    { signal }: CallOptions,
  ): Promise<MoveRecord> {
    signal.throwIfAborted();
    let record = this.table.inPhase(cluster, "importing");
    for (const each of records) record = this.#importOne(record, each);
    this.table.set(cluster, record);
    return record;
  }

  async seal(cluster: ClusterName, final: Revision, { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const record = this.table.inPhase(cluster, "importing", "sealed", "open");
    if (record.phase !== "importing") return;
    checkComplete(record, final);
    const arrivedAt = this.#options.raise(final + revisionMargin);
    this.table.set(cluster, { ...record, phase: "sealed", upTo: final, arrivedAt });
    this.#options.feed.advance(arrivedAt);
  }

  async announce(
    cluster: ClusterName,
    { signal, onlyFirst = false }: AnnounceOptions,
  ): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const record = this.table.inPhase(cluster, "sealed", "open");
      if (record.announcedAt > 0 || (onlyFirst && record.announcedFirst)) return;
      const all = this.#entriesOf(cluster).filter(
        ({ key }) =>
          key > record.announcedTo &&
          isAnnouncedFirst(parseResourceKey(key)) !== record.announcedFirst,
      );
      const some = all.slice(0, relocatedPerBatch);
      const changes = some
        .filter(({ modifiedAt }) => modifiedAt < record.arrivedAt)
        .map((entry) => arrival(entry, this.#options.raise(0)));
      const announcedTo = some.at(-1)?.key ?? record.announcedTo;
      const next = { ...record, announcedTo };
      if (some.length === all.length)
        this.table.set(
          cluster,
          record.announcedFirst
            ? { ...next, announcedAt: this.#options.current() }
            : { ...next, announcedFirst: true, announcedTo: "" },
        );
      else this.table.set(cluster, next);
      this.#options.feed.publish(changes);
    }
  }

  async open(cluster: ClusterName, { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const record = this.table.inPhase(cluster, "sealed", "open");
    this.table.set(cluster, { ...record, phase: "open" });
  }

  async discardImport(cluster: ClusterName, { signal }: CallOptions): Promise<void> {
    signal.throwIfAborted();
    const known = this.table.get(cluster);
    if (known === undefined || known.phase === "removed") return;
    const record = this.table.inPhase(cluster, "importing", "sealed", "discarding");
    for (const entry of this.#entriesOf(cluster)) {
      if (isAnnounced(record, entry.key)) this.#relocateOut(entry);
      else this.#options.entries.delete(entry.key);
    }
    this.#imported.delete(cluster);
    this.table.set(cluster, afterDiscard(record));
  }

  /** Forgets imported history that is older than the store's own. */
  forgetOld(): void {
    const { tailStart } = this.#options.feed;
    for (const { cluster, arrivedAt } of this.table.all())
      if (arrivedAt > 0 && arrivedAt <= tailStart) this.#imported.delete(cluster);
  }

  #importOne(record: MoveRecord, each: ExportRecord): MoveRecord {
    const { entries } = this.#options;
    if (each.kind === "progress") return { ...record, upTo: max(record.upTo, each.revision) };
    if (each.kind === "stateEnd")
      return { ...record, hasState: true, upTo: each.oldest, oldest: each.oldest };
    if (each.kind === "state") {
      const known = entries.get(each.entry.key);
      if (known === undefined || known.modifiedAt < each.entry.modifiedAt)
        entries.set(each.entry.key, each.entry);
      return record;
    }
    const { change } = each;
    const log = this.#imported.get(record.cluster) ?? [];
    if (change.revision <= record.upTo) return record;
    log.push(change);
    applyChange(entries, change);
    return { ...record, upTo: change.revision };
  }

  #relocateOut(previous: Entry): void {
    const revision = this.#options.raise(0);
    this.#options.entries.delete(previous.key);
    this.#options.feed.publish([{ kind: "delete", previous, revision, relocation: true }]);
  }

  #entriesOf(cluster: ClusterName): Entry[] {
    const found: Entry[] = [];
    for (const [, entry] of this.#options.entries.range("", undefined))
      if (clusterUnder(entry.key) === cluster) found.push(entry);
    return found;
  }
}

function applyChange(entries: SortedMap<Entry>, change: DataChange): void {
  if (change.kind === "delete") {
    const known = entries.get(change.previous.key);
    if (known !== undefined && known.modifiedAt < change.revision) entries.delete(known.key);
    return;
  }
  const known = entries.get(change.entry.key);
  if (known === undefined || known.modifiedAt < change.revision)
    entries.set(change.entry.key, change.entry);
}

function arrival(entry: Entry, revision: Revision): DataChange {
  return { kind: "put", entry, previous: undefined, revision, relocation: true };
}

function max(a: Revision, b: Revision): Revision {
  return a > b ? a : b;
}
