/**
 * Encodes a snapshot into the bytes of a backup file. Reads ahead by one chunk only, for any size
 * of the store.
 */
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Entry, Snapshot } from "../storage/index.ts";
import {
  type BackupHead,
  endPayloadBytes,
  entryPrefixBytes,
  formatVersion,
  magic,
  recordPrefixBytes,
  recordSuffixBytes,
  recordType,
} from "./backup-format.ts";

export interface EncodeOptions {
  /** The time of the snapshot, in milliseconds since the epoch. */
  readonly createdAtMs: number;
}

export async function* encodeBackup(
  { revision, entries }: Snapshot,
  { createdAtMs }: EncodeOptions,
): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  let waiting: Buffer[] = [preamble(), head(revision, createdAtMs)];
  let bytes = 0;
  let count = 0;
  const take = () => {
    const chunk = Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
    hash.update(chunk);
    return chunk;
  };
  for await (const entry of entries) {
    const record = encodeEntry(entry);
    waiting.push(record);
    bytes += record.length;
    count++;
    if (bytes >= chunkBytesTarget) yield take();
  }
  yield take();
  yield end(count, hash.digest());
}

const chunkBytesTarget = 64 << 10;

function preamble(): Buffer {
  const version = Buffer.alloc(4);
  version.writeUInt32BE(formatVersion);
  return Buffer.concat([magic, version]);
}

function head(revision: number, createdAtMs: number): Buffer {
  const value: BackupHead = { revision, createdAt: new Date(createdAtMs).toISOString() };
  return record(recordType.head, Buffer.from(JSON.stringify(value)));
}

function encodeEntry({ key, value, createdAt, modifiedAt }: Entry): Buffer {
  const payload = Buffer.allocUnsafe(entryPrefixBytes + key.length + value.length);
  payload.writeBigUInt64BE(BigInt(createdAt), 0);
  payload.writeBigUInt64BE(BigInt(modifiedAt), 8);
  payload.writeUInt16BE(key.length, 16);
  payload.write(key, entryPrefixBytes, "latin1");
  payload.set(value, entryPrefixBytes + key.length);
  return record(recordType.entry, payload);
}

function end(count: number, digest: Buffer): Buffer {
  const payload = Buffer.alloc(endPayloadBytes);
  payload.writeBigUInt64BE(BigInt(count), 0);
  digest.copy(payload, 8);
  return record(recordType.end, payload);
}

function record(type: number, payload: Buffer): Buffer {
  const framed = Buffer.allocUnsafe(recordPrefixBytes + payload.length + recordSuffixBytes);
  framed.writeUInt32BE(payload.length, 0);
  framed.writeUInt8(type, 4);
  payload.copy(framed, recordPrefixBytes);
  const checksum = crc32(framed.subarray(4, recordPrefixBytes + payload.length));
  framed.writeUInt32BE(checksum, recordPrefixBytes + payload.length);
  return framed;
}
