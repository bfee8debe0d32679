/** Encryption of stored values: docs/adr/0087. */
export { EncryptedStorage } from "./encrypted-storage.ts";
export {
  EncryptionConfigError,
  type EncryptionRule,
  type KeyServices,
  parseEncryptionConfig,
} from "./encryption-config.ts";
export { type KeyService, type KeySource, localKey, serviceKey } from "./key-source.ts";
export { KmsPlugin } from "./kms-plugin.ts";
