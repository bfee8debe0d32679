/**
 * Reads LevelDB's log format, which its write-ahead logs and its manifest share.
 *
 *     file:   | block 32 KiB | block 32 KiB | ... | rest |
 *     block:  | record | record | ... | zeros when fewer than 7 bytes are left |
 *     record: | masked crc32c of type+payload: 4 | length: 2 | type: 1 | payload |    (little-endian)
 *     type:   1 whole, 2 first part, 3 middle part, 4 last part
 *
 * After the last record there may be zeros, which later records overwrite (wal-preallocator.ts).
 *
 * LevelDB itself drops a record with a wrong checksum, with the rest of its block, and continues.
 * Here a wrong record is the end if no record begins after it (a torn tail: the process died in
 * mid-write), and damage otherwise: the store starts a record only when all earlier ones are on
 * disk.
 */
import { crc32c, unmaskCrc32c } from "./crc32c.ts";

export interface LevelLogContents {
  /** The complete records before the first wrong one. */
  readonly records: readonly Buffer[];
  /** The offset of a wrong record that has records after it. */
  readonly damagedAt: number | undefined;
}

/** Payloads are collected on demand: a write-ahead log is only checked, a manifest is read. */
export function readLevelLog(file: Buffer, gather: "records" | "nothing"): LevelLogContents {
  const records: Buffer[] = [];
  let parts: Buffer[] = [];
  let at = 0;
  for (;;) {
    at = skipTrailer(at);
    if (at + headerBytes > file.length) break;
    const record = recordAt(file, at);
    if (record === undefined) {
      const damaged = beginsBehind(file, at);
      return { records, damagedAt: damaged ? at : undefined };
    }
    if (gather === "records") {
      if (record.type === whole || record.type === firstPart) parts = [];
      parts.push(file.subarray(at + headerBytes, record.end));
      if (record.type === whole || record.type === lastPart) records.push(Buffer.concat(parts));
    }
    at = record.end;
  }
  return { records, damagedAt: undefined };
}

interface LogRecord {
  readonly type: number;
  readonly end: number;
}

/** The record at `at`, if it is complete and its checksum is right. */
function recordAt(file: Buffer, at: number): LogRecord | undefined {
  const type = file[at + 6] as number;
  if (type < whole || type > lastPart) return undefined;
  const end = at + headerBytes + file.readUInt16LE(at + 4);
  if (end > file.length || end > at - (at % blockBytes) + blockBytes) return undefined;
  if (crc32c(file, at + 6, end) !== unmaskCrc32c(file.readUInt32LE(at))) return undefined;
  return { type, end };
}

/**
 * Whether a record begins after a wrong one. Middle and last parts do not count: after a power cut
 * they may exist without their first part.
 *
 * In the block of the wrong record every offset is tried, as its length cannot be trusted. A match
 * there may be a part of a torn record's payload, which a tenant wrote: only records that follow
 * each other to the end of the block or the file, or to the preallocated zeros, count.
 */
function beginsBehind(file: Buffer, wrongAt: number): boolean {
  const blockEnd = Math.min(wrongAt - (wrongAt % blockBytes) + blockBytes, file.length);
  for (let at = wrongAt + 1; at + headerBytes <= blockEnd; at++) {
    const type = file[at + 6];
    if ((type === whole || type === firstPart) && recordsFill(file, at, blockEnd)) return true;
  }
  for (let block = blockEnd; block < file.length; block += blockBytes) {
    const end = Math.min(block + blockBytes, file.length);
    for (let at = block; at + headerBytes <= end; ) {
      const record = recordAt(file, at);
      if (record === undefined) break;
      if (record.type === whole || record.type === firstPart) return true;
      at = record.end;
    }
  }
  return false;
}

function recordsFill(file: Buffer, start: number, end: number): boolean {
  let at = start;
  while (at + headerBytes <= end) {
    const record = recordAt(file, at);
    if (record === undefined) return at > start && isZero(file, at, end);
    at = record.end;
  }
  return at === end || end % blockBytes === 0;
}

function isZero(file: Buffer, from: number, to: number): boolean {
  return file.subarray(from, to).every((byte) => byte === 0);
}

function skipTrailer(at: number): number {
  const left = blockBytes - (at % blockBytes);
  return left < headerBytes ? at + left : at;
}

const blockBytes = 32 << 10;
const headerBytes = 7;
const whole = 1;
const firstPart = 2;
const lastPart = 4;
