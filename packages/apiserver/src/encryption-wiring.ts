/** Wiring of encryption at rest: the configuration file becomes a store around the store. */
import { EncryptedStorage, type KeyService, parseEncryptionConfig } from "./encryption/index.ts";
import { parseManifests } from "./manifests/index.ts";
import type { ServerLog } from "./server-log.ts";
import type { Storage } from "./storage/index.ts";

export interface EncryptionSettings {
  /** The text of an EncryptionConfiguration. */
  readonly config: string;
  /** Key services that providers of the kind `kms` name. */
  readonly keyServices?: ReadonlyMap<string, KeyService> | undefined;
  readonly log: Pick<ServerLog, "info" | "error">;
}

/** Values of other keys are rewritten in the background, until the store is closed. */
export async function encryptStorage(
  storage: Storage,
  { config, keyServices, log }: EncryptionSettings,
): Promise<Storage> {
  const [document] = parseManifests(config, "the EncryptionConfiguration");
  const rules = parseEncryptionConfig(document, keyServices);
  const reported = new Set<string>();
  const encrypted = await EncryptedStorage.open(storage, rules, (key, error) => {
    if (reported.size < reportsMax && !reported.has(key))
      log.error({ err: error, key }, "a stored value cannot be decrypted: configure its key");
    reported.add(key);
  });
  encrypted.rewriteStale().then(
    (count) => log.info({ count }, "stored values were encrypted by the first key"),
    (error: unknown) => {
      // The rest follows at the next start.
      if (!encrypted.isClosed)
        log.error({ err: error }, "stored values could not be encrypted again");
    },
  );
  return encrypted;
}

const reportsMax = 100;
