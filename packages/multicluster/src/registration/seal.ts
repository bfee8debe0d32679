/**
 * Sealed kubeconfigs: the encrypted text that is stored and served instead of a kubeconfig that was
 * written into a SyncTarget.
 *
 * A sealed text can be decrypted only for the SyncTarget that it was created for, in its logical
 * cluster: copied to another SyncTarget, it is useless. Written back to the same SyncTarget, it
 * stays valid.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

export interface SealContext {
  readonly cluster: string;
  readonly name: string;
}

export const sealingKeyBytes = 32;
const prefix = "REDACTED:v1:";
const nonceBytes = 12;
const tagBytes = 16;
const algorithm = "aes-256-gcm";

export function isSealed(text: string): boolean {
  return text.startsWith(prefix);
}

export function seal(text: string, place: SealContext, key: Uint8Array): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(placeBytes(place));
  const sealed = Buffer.concat([
    nonce,
    cipher.update(text, "utf8"),
    cipher.final(),
    cipher.getAuthTag(),
  ]);
  return prefix + sealed.toString("base64");
}

/** Undefined when the text was sealed for another SyncTarget or with another key, or is damaged. */
export function unseal(sealed: string, place: SealContext, key: Uint8Array): string | undefined {
  if (!isSealed(sealed)) return undefined;
  const bytes = Buffer.from(sealed.slice(prefix.length), "base64");
  if (bytes.length < nonceBytes + tagBytes) return undefined;
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  decipher.setAAD(placeBytes(place));
  decipher.setAuthTag(bytes.subarray(bytes.length - tagBytes));
  try {
    const text = decipher.update(bytes.subarray(nonceBytes, bytes.length - tagBytes));
    return Buffer.concat([text, decipher.final()]).toString("utf8");
  } catch {
    // The only way in which node:crypto reports that the authentication tag does not match.
    return undefined;
  }
}

function placeBytes({ cluster, name }: SealContext): Uint8Array {
  return new TextEncoder().encode(JSON.stringify([cluster, name]));
}
