/**
 * Hashes for labels and names: SHA-224 in base 62, digits first, then lower-case and then
 * upper-case letters.
 */
import { createHash } from "node:crypto";

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

export function base62(bytes: Uint8Array): string {
  let rest = 0n;
  for (const byte of bytes) rest = rest * 256n + BigInt(byte);
  let text = "";
  for (; rest > 0n; rest /= 62n) text = alphabet.charAt(Number(rest % 62n)) + text;
  return text === "" ? "0" : text;
}

export function base62Hash(text: string): string {
  return base62(createHash("sha224").update(text).digest());
}

/** The value of a binding's label `internal.apis.kcp.io/export`. */
export function exportHash(exportCluster: string, exportName: string): string {
  return base62Hash(`${exportCluster}:${exportName}`);
}

/** The identity hash of an export: the hash of the key in its Secret. */
export function identityHashOf(key: Uint8Array): string {
  return createHash("sha256").update(key).digest("hex");
}
