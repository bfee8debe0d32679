/**
 * The bytes of a stored object: an envelope with offsets, and the JSON that a client gets, without
 * the fields that only the server sets.
 *
 *     envelope │ {"kind":"ConfigMap","apiVersion":"v1","metadata":{"labels":{…},│,"note":"x"},"name":"x",…},"data":{…}}
 *              ^ textStart                             ^ metadata               ^ gap                     ^ metadataEnd
 *
 * The gap is the place of the fields that the object does not control: its resourceVersion, which
 * is known only after the write, and the logical cluster, which is part of its key. Both are
 * written when the object is served, so that no content can forge them.
 *
 *     0  u8   the format, 1
 *     1  u8   flags that are readable without parsing the text: `envelopeFlag`
 *     2  u16  0
 *     4  u32  CRC-32 of everything after it, begun with the flags
 *     8  u32  metadata: the offset of `"metadata":{`
 *    12  u32  gap: the offset for the resourceVersion and the first annotation; labels, if any, are before it
 *    16  u32  metadataEnd: the offset after the brace that closes the metadata
 *
 * Only the encoder knows these offsets, because it assembles the parts. No code searches the text
 * for them: V8 writes members with integer names first, wherever they were put, and tenants choose
 * the names of members.
 */
import { crc32 } from "node:zlib";
import { type Entry, StorageError } from "../storage/index.ts";

export const envelopeFormat = 1;
/** The offset of the text. */
export const textStart = 20;

export const envelopeFlag = {
  /** The object has owner references. */
  owned: 1,
  /** A finalizer makes its deletion wait for its dependents, or for their release. */
  awaitsDependents: 2,
  finalizers: 4,
  deleting: 8,
  /** The object has the condition Established. */
  established: 16,
} as const;

export interface Envelope {
  readonly bytes: Buffer;
  readonly metadata: number;
  readonly gap: number;
  readonly metadataEnd: number;
}

/** The start of metadata without labels, up to the gap. */
export const metadataOpening = '"metadata":{';
export const labelsOpening = '"labels":';

/** Writes the envelope in front of an existing text. */
export function writeEnvelope(
  bytes: Buffer,
  flags: number,
  { metadata, gap, metadataEnd }: Omit<Envelope, "bytes">,
): Buffer {
  bytes.writeUInt32LE(envelopeFormat | (flags << 8), 0);
  bytes.writeUInt32LE(metadata, 8);
  bytes.writeUInt32LE(gap, 12);
  bytes.writeUInt32LE(metadataEnd, 16);
  bytes.writeUInt32LE(checksum(bytes, flags), 4);
  return bytes;
}

/**
 * Throws a StorageError `corrupt` for bytes that the encoder cannot have written. Does not verify
 * the checksum: see `isIntact`.
 */
export function readEnvelope(entry: Pick<Entry, "key" | "value">): Envelope {
  const bytes = asBuffer(entry.value);
  if (hasEnvelope(bytes)) {
    const metadata = bytes.readUInt32LE(8);
    const gap = bytes.readUInt32LE(12);
    const metadataEnd = bytes.readUInt32LE(16);
    const isOrdered = textStart < metadata && metadata < gap && gap < metadataEnd;
    if (isOrdered && metadataEnd < bytes.length) return { bytes, metadata, gap, metadataEnd };
  }
  throw corruptValueError(entry);
}

export function hasFlag(entry: Pick<Entry, "key" | "value">, flags: number): boolean {
  const { value } = entry;
  if (!hasEnvelope(value)) throw corruptValueError(entry);
  return ((value[1] as number) & flags) !== 0;
}

/** Whether the value is, to the last byte, what the encoder wrote. */
export function isIntact({ value }: Pick<Entry, "value">): boolean {
  if (!hasEnvelope(value)) return false;
  const bytes = asBuffer(value);
  return bytes.readUInt32LE(4) === checksum(bytes, value[1] as number);
}

export function corruptValueError({ key }: Pick<Entry, "key">, cause?: unknown): StorageError {
  return new StorageError("corrupt", `the value of ${key} is no stored object`, { cause });
}

function hasEnvelope(value: Uint8Array): boolean {
  return (
    value.length > textStart && value[0] === envelopeFormat && value[2] === 0 && value[3] === 0
  );
}

function checksum(bytes: Buffer, flags: number): number {
  return crc32(bytes.subarray(8), flags);
}

/** Backends return Buffers or plain arrays; a view costs nothing. */
function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
