/**
 * Keys that encrypt stored values. No key of the configuration encrypts values itself: each process
 * derives a data key of its own, whose header is stored with each value, so that a counter is a
 * nonce that is never used twice, and no key reaches the limit of AES-GCM's random nonces.
 */
import { hkdfSync, randomBytes } from "node:crypto";

export interface DataKey {
  /** Stored with each value; names the data key. */
  readonly header: Buffer;
  /** 32 bytes, for AES-256-GCM. */
  readonly key: Buffer;
}

/** Sources whose key another program rotates have all of it. */
interface RotatedKey {
  /** The ID of the key that the source encrypts with now. */
  currentKeyId(): Promise<string>;
  /** The ID of the key that wrapped this data key. Throws for a header of another source. */
  keyIdOf(header: Uint8Array): string;
}

export interface KeySource extends Partial<RotatedKey> {
  /** Of the configuration; stored with each value, so that its key is found again. */
  readonly name: string;
  newDataKey(): Promise<DataKey>;
  /** Throws when the header is none of this source. */
  openDataKey(header: Buffer): Promise<Buffer>;
}

/**
 * A key management service, as the KMS v2 plug-ins of Kubernetes: it wraps keys, and never sees a
 * value. It is called once when a server starts, and once for each data key that is read first.
 */
export interface KeyService extends Partial<RotatedKey> {
  encrypt(plaintext: Uint8Array): Promise<{ readonly ciphertext: Uint8Array }>;
  decrypt(ciphertext: Uint8Array): Promise<Uint8Array>;
}

const dataKeyBytes = 32;
const seedBytes = 32;

/** A key of the configuration file: data keys are derived from it and from a stored seed. */
export function localKey(name: string, secret: Buffer): KeySource {
  const derive = (seed: Buffer) =>
    Buffer.from(hkdfSync("sha256", secret, seed, "kcp data key, AES-256-GCM", dataKeyBytes));
  return {
    name,
    async newDataKey() {
      const header = randomBytes(seedBytes);
      return { header, key: derive(header) };
    },
    async openDataKey(header) {
      return derive(header);
    },
  };
}

/** A data key that a service has wrapped. */
export function serviceKey(name: string, service: KeyService): KeySource {
  const { currentKeyId, keyIdOf } = service;
  return {
    name,
    ...(currentKeyId === undefined ? {} : { currentKeyId: currentKeyId.bind(service) }),
    ...(keyIdOf === undefined ? {} : { keyIdOf: keyIdOf.bind(service) }),
    async newDataKey() {
      const key = randomBytes(dataKeyBytes);
      const { ciphertext } = await service.encrypt(key);
      return { header: Buffer.from(ciphertext), key };
    },
    async openDataKey(header) {
      const key = Buffer.from(await service.decrypt(header));
      if (key.length !== dataKeyBytes)
        throw new Error(`the key service ${name} returned a key of ${key.length} bytes`);
      return key;
    },
  };
}
