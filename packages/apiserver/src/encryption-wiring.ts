/** Wiring of encryption at rest: the configuration file becomes a store around the store. */
import { type Clock, sleep } from "@kcp-ts/machinery/base";
import {
  EncryptedStorage,
  type KeyService,
  KmsPlugin,
  parseEncryptionConfig,
} from "./encryption/index.ts";
import { parseManifests } from "./manifests/index.ts";
import type { ServerLog } from "./server-log.ts";
import type { Storage } from "./storage/index.ts";

export interface EncryptionSettings {
  /** The text of an EncryptionConfiguration. */
  readonly config: string;
  /** Key services that providers of the kind `kms` name. */
  readonly keyServices?: ReadonlyMap<string, KeyService> | undefined;
  readonly clock: Clock;
  readonly log: Pick<ServerLog, "info" | "error">;
}

/**
 * Values of other keys are rewritten in the background, until the store is closed, and again when a
 * KMS plug-in has a new key.
 */
export async function encryptStorage(
  storage: Storage,
  { config, keyServices, clock, log }: EncryptionSettings,
): Promise<Storage> {
  const [document] = parseManifests(config, "the EncryptionConfiguration");
  const pluginAt = (endpoint: string, timeoutMs: number) =>
    new KmsPlugin({ endpoint, timeoutMs, clock });
  const rules = parseEncryptionConfig(document, { named: keyServices, pluginAt });
  const reported = new Set<string>();
  const encrypted = await EncryptedStorage.open(storage, rules, (key, error) => {
    if (reported.size < reportsMax && !reported.has(key))
      log.error({ err: error, key }, "a stored value cannot be decrypted: configure its key");
    reported.add(key);
  });
  void keepCurrent(encrypted, { clock, log });
  return encrypted;
}

async function keepCurrent(
  storage: EncryptedStorage,
  { clock, log }: Pick<EncryptionSettings, "clock" | "log">,
): Promise<void> {
  await rewrite(storage, log);
  while (storage.hasRotatedKeys && !storage.closing.aborted) {
    try {
      await sleep(clock, keyPollMs, storage.closing);
      if (await storage.followKeys()) await rewrite(storage, log);
    } catch (error) {
      // The data key in use stays, and old ones that were opened.
      if (!storage.closing.aborted)
        log.error({ err: error }, "the key service does not say which key is in use");
    }
  }
}

async function rewrite(storage: EncryptedStorage, log: EncryptionSettings["log"]): Promise<void> {
  try {
    const count = await storage.rewriteStale();
    log.info({ count }, "stored values were encrypted by the first key");
  } catch (error) {
    // The rest follows at the next start.
    if (!storage.closing.aborted)
      log.error({ err: error }, "stored values could not be encrypted again");
  }
}

const reportsMax = 100;
/** As kube-apiserver asks KMS plug-ins for their status. */
const keyPollMs = 60_000;
