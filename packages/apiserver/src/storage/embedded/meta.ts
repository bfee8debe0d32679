/**
 * The store's counters, written with every batch in the same record.
 *
 *     | format: 1 | state: 1 | revision: 8 | compacted: 8 | swept: 8 | historyBytes: 8 | crc32: 4 |
 *
 * The format byte stays first in all future formats, so that an older program can report that it is
 * too old.
 */
import { crc32 } from "node:zlib";
import { StorageError } from "../errors.ts";
import { type Revision, revisionZero } from "../revision.ts";
import { corruptError } from "./corrupt-error.ts";
import { readNumber, writeNumber } from "./entry-record.ts";

export interface Meta {
  /** "restoring" from the first to the last batch of a restore: such a store is incomplete. */
  readonly state: "ready" | "restoring";
  readonly revision: Revision;
  /** History at and below this revision is compacted. */
  readonly compacted: Revision;
  /** History at and below this revision is also removed from the disk. */
  readonly swept: Revision;
  /** The bytes of history, before the engine's compression. */
  readonly historyBytes: number;
}

export const emptyMeta: Meta = {
  state: "ready",
  revision: revisionZero,
  compacted: revisionZero,
  swept: revisionZero,
  historyBytes: 0,
};

export function encodeMeta(meta: Meta): Buffer {
  const record = Buffer.allocUnsafe(metaBytes);
  record[0] = metaFormat;
  record[1] = meta.state === "ready" ? 0 : 1;
  writeNumber(record, meta.revision, 2);
  writeNumber(record, meta.compacted, 10);
  writeNumber(record, meta.swept, 18);
  writeNumber(record, meta.historyBytes, 26);
  record.writeUInt32BE(crc32(record.subarray(0, crcAt)), crcAt);
  return record;
}

export function decodeMeta(record: Buffer, where: string): Meta {
  if (record[0] !== metaFormat) {
    throw new StorageError(
      "unavailable",
      `the data in ${where} has format ${record[0]}, this version reads format ${metaFormat}: use the version that wrote it`,
    );
  }
  if (
    record.length !== metaBytes ||
    record.readUInt32BE(crcAt) !== crc32(record.subarray(0, crcAt))
  )
    throw corruptError(where, "the counters have a wrong checksum");
  return {
    state: record[1] === 0 ? "ready" : "restoring",
    revision: readNumber(record, 2) as Revision,
    compacted: readNumber(record, 10) as Revision,
    swept: readNumber(record, 18) as Revision,
    historyBytes: readNumber(record, 26),
  };
}

const metaFormat = 1;
const crcAt = 34;
const metaBytes = 38;
