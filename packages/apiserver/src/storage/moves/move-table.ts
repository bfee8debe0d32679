/** The records of a store, and what they mean for its reads and writes. Usually empty. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { StorageError } from "../errors.ts";
import { parseResourceKey, type StorageKey } from "../key.ts";
import { type Revision, revisionZero } from "../revision.ts";
import type { Entry } from "../storage.ts";
import { isAnnouncedFirst, type MovePhase, type MoveRecord } from "./cluster-moves.ts";

/** Nothing is left to hide of a removed cluster, and others must not pay for its record. */
const hidden: ReadonlySet<MovePhase> = new Set(["left", "importing", "discarding"]);
const writable: ReadonlySet<MovePhase> = new Set(["copying", "open"]);

export class MoveTable {
  readonly #records = new Map<ClusterName, MoveRecord>();
  #hidden = 0;

  get(cluster: ClusterName): MoveRecord | undefined {
    return this.#records.get(cluster);
  }

  all(): readonly MoveRecord[] {
    return [...this.#records.values()];
  }

  set(cluster: ClusterName, record: MoveRecord | undefined): void {
    if (record === undefined) this.#records.delete(cluster);
    else this.#records.set(cluster, record);
    this.#hidden = 0;
    for (const { phase } of this.#records.values()) if (hidden.has(phase)) this.#hidden++;
  }

  clear(): void {
    this.#records.clear();
    this.#hidden = 0;
  }

  /** The record of the cluster of a key, or of a prefix that ends behind its cluster. */
  of(key: StorageKey): MoveRecord | undefined {
    if (this.#records.size === 0) return undefined;
    const cluster = clusterUnder(key);
    return cluster === undefined ? undefined : this.#records.get(cluster);
  }

  /** Whether an object, or a collection of one cluster, is not visible. */
  isHidden(key: StorageKey): boolean {
    return this.#hidden > 0 && hidden.has(this.of(key)?.phase ?? "open");
  }

  get hasHidden(): boolean {
    return this.#hidden > 0;
  }

  /** Throws `moving` for a write of a cluster that this store must not write. */
  checkWrite(key: StorageKey): void {
    if (this.#records.size === 0) return;
    const record = this.of(key);
    if (record === undefined || writable.has(record.phase)) return;
    throw new StorageError(
      "moving",
      `the logical cluster ${record.cluster} moves to another shard`,
    );
  }

  /** The record of a cluster whose history before its arrival was imported, for a read of then. */
  importedFor(key: StorageKey, revision: Revision): MoveRecord | undefined {
    const record = this.of(key);
    return record !== undefined && revision < record.arrivedAt ? record : undefined;
  }

  /** The revision from which on an entry is the state of this store. */
  versionOf({ key, modifiedAt }: Pick<Entry, "key" | "modifiedAt">): Revision {
    const arrivedAt = this.of(key)?.arrivedAt ?? revisionZero;
    return modifiedAt < arrivedAt ? arrivedAt : modifiedAt;
  }

  /** The record, which has to be in one of the phases. */
  inPhase(cluster: ClusterName, ...phases: readonly MovePhase[]): MoveRecord {
    const record = this.#records.get(cluster);
    if (record !== undefined && phases.includes(record.phase)) return record;
    throw wrongPhase(cluster, record, phases.join(" or "));
  }

  /** The record with which an import begins; throws `conflict` unless the cluster is elsewhere. */
  beginImport(cluster: ClusterName, note: string): MoveRecord {
    const known = this.#records.get(cluster);
    if (known !== undefined && known.phase !== "removed")
      throw wrongPhase(cluster, known, "nothing or removed");
    return { ...newMoveRecord(cluster, "importing", note), hadLeft: known !== undefined };
  }

  /** Throws `conflict` when a move of the cluster is under way, or the cluster has left. */
  checkHome(cluster: ClusterName): void {
    const record = this.#records.get(cluster);
    if (record !== undefined && record.phase !== "open")
      throw wrongPhase(cluster, record, "nothing or open");
  }
}

function wrongPhase(
  cluster: ClusterName,
  record: MoveRecord | undefined,
  expected: string,
): StorageError {
  const phase = record?.phase ?? "nothing";
  return new StorageError("conflict", `the move of ${cluster} is at ${phase}, not at ${expected}`);
}

/** A new record without any progress. */
export function newMoveRecord(cluster: ClusterName, phase: MovePhase, note: string): MoveRecord {
  return {
    cluster,
    phase,
    hadLeft: false,
    note,
    upTo: revisionZero,
    hasState: false,
    oldest: revisionZero,
    arrivedAt: revisionZero,
    announcedFirst: false,
    announcedTo: "",
    announcedAt: revisionZero,
  };
}

/**
 * The cluster in `/<group>/<resource>/<identity>/<cluster>/…`; undefined for a prefix that ends
 * before it.
 */
export function clusterUnder(key: StorageKey): ClusterName | undefined {
  let start = 1;
  for (let parts = 0; parts < 3; parts++) {
    start = key.indexOf("/", start) + 1;
    if (start === 0) return undefined;
  }
  const end = key.indexOf("/", start);
  return end <= start ? undefined : (key.slice(start, end) as ClusterName);
}

/** The record that remains of a cancelled import. */
export function afterDiscard({ cluster, hadLeft, note }: MoveRecord): MoveRecord | undefined {
  return hadLeft ? { ...newMoveRecord(cluster, "removed", note), hadLeft } : undefined;
}

/** Throws unless everything up to the final revision was imported. */
export function checkComplete({ cluster, hasState, upTo }: MoveRecord, final: Revision): void {
  if (hasState && upTo >= final) return;
  throw new StorageError("conflict", `${cluster} is imported up to ${upTo}, not up to ${final}`);
}

/** Whether an object was announced. */
export function isAnnounced(record: MoveRecord, key: StorageKey): boolean {
  if (isAnnouncedFirst(parseResourceKey(key)))
    return record.announcedFirst || key <= record.announcedTo;
  return record.announcedFirst && key <= record.announcedTo;
}
