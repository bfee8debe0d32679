/**
 * The format of a backup file: every entry of a store at one revision.
 *
 *     file     = magic version head entry* end          nothing may follow
 *     magic    = "KCPBACK\n"                            8 bytes
 *     version  = u32                                    1
 *     head     = record of type "H": JSON of BackupHead
 *     entry    = record of type "E": u64 createdAt, u64 modifiedAt, u16 key length, key (ASCII), value
 *     end      = record of type "Z": u64 number of entries, SHA-256 of all bytes before this record
 *     record   = u32 payload length, u8 type, payload, u32 CRC-32 of type and payload
 *
 * Integers are big-endian. A file without its end is not a backup: it is rejected, as is a file
 * with a wrong checksum, so that a full disk or a broken connection is never mistaken for a small
 * store. Entries are in bytewise key order. Values are the stored objects, Secrets included: only
 * the owner may read the file.
 */
export const magic = Buffer.from("KCPBACK\n", "ascii");
export const formatVersion = 1;

export const recordType = { head: 0x48, entry: 0x45, end: 0x5a } as const;

/** Length and type before a payload, and the checksum after it. */
export const recordPrefixBytes = 5;
export const recordSuffixBytes = 4;
/** Two revisions and the length of the key. */
export const entryPrefixBytes = 18;
export const endPayloadBytes = 8 + 32;
/** No store accepts values of this size: a larger length is damage, and is not allocated. */
export const payloadBytesMax = 64 << 20;

export interface BackupHead {
  /** All entries have their state at this revision. */
  readonly revision: number;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** A file that cannot be restored, with a message for its owner. */
export class BackupFormatError extends Error {
  override readonly name = "BackupFormatError";
}
