/**
 * The bytes of one entry in the engine.
 *
 *     | format: 1 | createdAt: 8 | modifiedAt: 8 | crc32: 4 | value |
 *
 * The checksum covers the key, the revisions and the value: an entry under another key is as wrong
 * as one with a flipped bit.
 */
import { crc32 } from "node:zlib";
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { Entry } from "../storage.ts";
import { corruptError } from "./corrupt-error.ts";

/**
 * Encodes the record, and the entry whose value is a view of it: later changes of the caller's
 * bytes have no effect.
 */
export function encodeEntry(
  key: StorageKey,
  value: Uint8Array,
  createdAt: Revision,
  modifiedAt: Revision,
): { record: Buffer; entry: Entry } {
  // Not from the shared pool: a cached entry would keep the pool's other buffers alive.
  const record = Buffer.allocUnsafeSlow(headerBytes + value.length);
  record[0] = entryFormat;
  writeNumber(record, createdAt, 1);
  writeNumber(record, modifiedAt, 9);
  record.set(value, headerBytes);
  record.writeUInt32BE(checksum(key, record), crcAt);
  const entry = { key, value: bytesFrom(record, headerBytes), createdAt, modifiedAt };
  return { record, entry };
}

export function decodeEntry(key: StorageKey, record: Buffer, where: string): Entry {
  if (
    record.length < headerBytes ||
    record[0] !== entryFormat ||
    record.readUInt32BE(crcAt) !== checksum(key, record)
  ) {
    throw corruptError(where, `the entry ${key} has a wrong checksum`);
  }
  return {
    key,
    value: bytesFrom(record, headerBytes),
    createdAt: readNumber(record, 1) as Revision,
    modifiedAt: readNumber(record, 9) as Revision,
  };
}

/** Writes integers to 2^53 in eight bytes, without bigint. */
export function writeNumber(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at);
  bytes.writeUInt32BE(value >>> 0, at + 4);
}

export function readNumber(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}

function checksum(key: StorageKey, record: Buffer): number {
  return crc32(record.subarray(headerBytes), crc32(record.subarray(0, crcAt), crc32(key)));
}

function bytesFrom(record: Buffer, start: number): Uint8Array {
  return new Uint8Array(record.buffer, record.byteOffset + start, record.length - start);
}

const entryFormat = 1;
const crcAt = 17;
const headerBytes = 21;
