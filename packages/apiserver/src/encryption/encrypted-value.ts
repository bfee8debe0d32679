/**
 * The bytes of an encrypted value. AES-256-GCM authenticates the storage key with it: a value that
 * is copied to another key is not readable there.
 *
 *     0  u8   the format, 2 (a plain stored object has 1)
 *     1  u8   0
 *     2  u16  length of the header
 *     4  u8   length of the name of the key source
 *     5       the name, the header, 12 bytes nonce, 16 bytes tag, the ciphertext
 */
import { createCipheriv, createDecipheriv, type KeyObject } from "node:crypto";
import type { StorageKey } from "../storage/index.ts";

const format = 2;
const prefixBytes = 5;
const nonceBytes = 12;
const tagBytes = 16;
const algorithm = "aes-256-gcm";

export const nameBytesMax = 255;
export const headerBytesMax = 65_535;

export interface EncryptedParts {
  readonly name: string;
  readonly header: Buffer;
  readonly body: Buffer;
}

/** Undefined for a value that is not encrypted. */
export function partsOf(value: Uint8Array): EncryptedParts | undefined {
  if (value[0] !== format || value.length < prefixBytes) return undefined;
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  const headerAt = prefixBytes + bytes.readUInt8(4);
  const bodyAt = headerAt + bytes.readUInt16LE(2);
  if (bytes.length < bodyAt + nonceBytes + tagBytes) return undefined;
  return {
    name: bytes.toString("utf8", prefixBytes, headerAt),
    header: bytes.subarray(headerAt, bodyAt),
    body: bytes.subarray(bodyAt),
  };
}

/** What precedes the nonce in each value of one data key. */
export function prefixOf(name: string, header: Buffer): Buffer {
  const length = Buffer.byteLength(name);
  const prefix = Buffer.alloc(prefixBytes + length + header.length);
  prefix.writeUInt8(format, 0);
  prefix.writeUInt16LE(header.length, 2);
  prefix.writeUInt8(length, 4);
  prefix.write(name, prefixBytes);
  header.copy(prefix, prefixBytes + length);
  return prefix;
}

export function encryptValue(
  {
    prefix,
    key,
    nonce,
  }: { readonly prefix: Buffer; readonly key: KeyObject; readonly nonce: number },
  at: StorageKey,
  value: Uint8Array,
): Buffer {
  const tagAt = prefix.length + nonceBytes;
  // A counter mode: the ciphertext is as long as the value. Backends copy what they keep.
  const bytes = Buffer.allocUnsafe(tagAt + tagBytes + value.length);
  prefix.copy(bytes);
  bytes.writeUInt32BE(0, prefix.length);
  bytes.writeUInt32BE(Math.floor(nonce / 2 ** 32), tagAt - 8);
  bytes.writeUInt32BE(nonce % 2 ** 32, tagAt - 4);
  const iv = bytes.subarray(prefix.length, tagAt);
  const cipher = createCipheriv(algorithm, key, iv).setAAD(Buffer.from(at));
  cipher.update(value).copy(bytes, tagAt + tagBytes);
  cipher.final();
  cipher.getAuthTag().copy(bytes, tagAt);
  return bytes;
}

/** The counter that the nonce of a value is made of. */
export function nonceOf(body: Buffer): number {
  return body.readUInt32BE(4) * 2 ** 32 + body.readUInt32BE(8);
}

/** Throws when the key, the place or a byte is another one. */
export function decryptBody(key: Buffer, at: StorageKey, body: Buffer): Buffer {
  const iv = body.subarray(0, nonceBytes);
  const decipher = createDecipheriv(algorithm, key, iv).setAAD(Buffer.from(at));
  decipher.setAuthTag(body.subarray(nonceBytes, nonceBytes + tagBytes));
  const text = decipher.update(body.subarray(nonceBytes + tagBytes));
  decipher.final();
  return text;
}
