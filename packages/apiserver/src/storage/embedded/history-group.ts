/**
 * The history record of one group of writes: the key that each revision changed, without values.
 *
 *     | format: 1 | crc32: 4 | first revision: 8 | historyBytes: 8 | change | change | ...
 *     change: | kind: 1 | version of the previous entry, 0 for none: 8 | key length: 2 | key |
 *     kind: 1 put, 2 delete, 3 arrived with its cluster, 4 left with its cluster
 *
 * An arrived entry exists already: its change has its version instead of that of an entry before.
 *
 * One record for the group instead of one per write halves the engine operations, and the check for
 * gaps in history reads fewer keys. Values are found by their key and revision, see layout.ts.
 */
import { crc32 } from "node:zlib";
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import { corruptError } from "./corrupt-error.ts";
import { readNumber, writeNumber } from "./entry-record.ts";

export interface KeyChange {
  readonly kind: "put" | "delete";
  readonly key: StorageKey;
  readonly revision: Revision;
  /** The version of the entry before this change; undefined when there was none. */
  readonly previousAt: Revision | undefined;
  /** The version of an entry that arrived, which this change announces. */
  readonly arrivedAt?: Revision | undefined;
  readonly relocation?: true;
}

export interface HistoryGroup {
  readonly changes: readonly KeyChange[];
  /** The bytes that this group added to history: this record and the old entries of its keys. */
  readonly historyBytes: number;
}

/** `oldBytes` is the size of the group's old entries; the changes have consecutive revisions. */
export function encodeHistoryGroup(changes: readonly KeyChange[], oldBytes: number): Buffer {
  let length = headerBytes;
  for (const change of changes) length += changeBytes + change.key.length;
  const record = Buffer.allocUnsafe(length);
  record[0] = groupFormat;
  writeNumber(record, changes[0]?.revision ?? 0, 5);
  writeNumber(record, oldBytes + length, 13);
  let at = headerBytes;
  for (const change of changes) {
    record[at] = (change.kind === "put" ? 1 : 2) + (change.relocation === true ? 2 : 0);
    writeNumber(record, change.previousAt ?? change.arrivedAt ?? 0, at + 1);
    record.writeUInt16BE(change.key.length, at + 9);
    record.write(change.key, at + changeBytes, "latin1");
    at += changeBytes + change.key.length;
  }
  record.writeUInt32BE(crc32(record.subarray(5)), 1);
  return record;
}

export function decodeHistoryGroup(record: Buffer, where: string): HistoryGroup {
  if (
    record.length < headerBytes ||
    record[0] !== groupFormat ||
    record.readUInt32BE(1) !== crc32(record.subarray(5))
  ) {
    throw corruptError(where, "a history record has a wrong checksum");
  }
  const changes: KeyChange[] = [];
  let revision = readNumber(record, 5);
  for (let at = headerBytes; at < record.length; ) {
    const version = readNumber(record, at + 1);
    const end = at + changeBytes + record.readUInt16BE(at + 9);
    const kind = record[at] as number;
    const known = version === 0 ? undefined : (version as Revision);
    changes.push({
      kind: kind % 2 === 1 ? "put" : "delete",
      key: record.toString("latin1", at + changeBytes, end) as StorageKey,
      revision: revision++ as Revision,
      previousAt: kind === arrived ? undefined : known,
      ...(kind >= arrived && { relocation: true as const }),
      ...(kind === arrived && { arrivedAt: known }),
    });
    at = end;
  }
  return { changes, historyBytes: readNumber(record, 13) };
}

const groupFormat = 1;
const arrived = 3;
const headerBytes = 21;
const changeBytes = 11;
