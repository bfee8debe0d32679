/** For tests: a store in a new directory under the system's temporary one. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@kcp-ts/machinery/base";
import { EmbeddedStorage, type EmbeddedStorageOptions } from "./embedded-storage.ts";

export interface TemporaryStore {
  readonly directory: string;
  readonly storage: EmbeddedStorage;
  dispose(): Promise<void>;
}

export async function temporaryDirectory(): Promise<string> {
  return await mkdtemp(join(tmpdir(), "kcp-embedded-"));
}

export async function openTemporary(
  options: Partial<EmbeddedStorageOptions> = {},
): Promise<TemporaryStore> {
  const directory = options.directory ?? (await temporaryDirectory());
  const storage = await EmbeddedStorage.open({ directory, clock: systemClock, ...options });
  const dispose = async () => {
    await storage.close();
    await rm(directory, { recursive: true, force: true });
  };
  return { directory, storage, dispose };
}
