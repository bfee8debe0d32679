/**
 * The bytes of a stored object: an envelope that says where things are, and the JSON that a client gets, less what only the server can say.
 *
 *     envelope │ {"kind":"ConfigMap","apiVersion":"v1","metadata":{"labels":{…},│,"note":"x"},"name":"x",…},"data":{…}}
 *              ^ textStart                             ^ metadata               ^ gap                     ^ metadataEnd
 *
 * In the gap belongs what is not the object's to say: its resourceVersion, which is known only when the write is done, and the logical
 * cluster, which is part of its key. Both are written when the object is served, so that nothing in its content can stand for them.
 *
 *     0  u8   the format, 1
 *     1  u8   what is to be known without reading the text: `envelopeFlag`
 *     2  u16  0
 *     4  u32  CRC-32 of everything behind it, begun with the flags
 *     8  u32  metadata: where `"metadata":{` begins
 *    12  u32  gap: where the resourceVersion and the first of the annotations belong; labels, if any, stand before it
 *    16  u32  metadataEnd: behind the brace that closes the metadata
 *
 * The encoder alone knows these places, because it puts the parts together. Nobody searches the text for them: V8 writes members whose names are
 * integers first, wherever they were put, and a tenant names the members.
 */
import { crc32 } from "node:zlib";
import { type Entry, StorageError } from "../storage/index.ts";

export const envelopeFormat = 1;
/** Where the text begins. */
export const textStart = 20;

export const envelopeFlag = {
  /** It has owners. */
  owned: 1,
  /** A finalizer says that its deletion waits for its dependents, or for their release. */
  awaitsDependents: 2,
  finalizers: 4,
  deleting: 8,
  /** A condition in its status says that it is Established. */
  established: 16,
} as const;

export interface Envelope {
  readonly bytes: Buffer;
  readonly metadata: number;
  readonly gap: number;
  readonly metadataEnd: number;
}

/** Of the metadata without labels, up to the gap. */
export const metadataOpening = '"metadata":{';
export const labelsOpening = '"labels":';

/** Writes the envelope in front of a text that is there already. */
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

/** Throws a StorageError `corrupt` for bytes that the encoder cannot have written. Whether the text is whole is not looked at: see `isWhole`. */
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

/** Backends hand out Buffers or plain arrays; a view costs nothing. */
function asBuffer(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value)
    ? value
    : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}
