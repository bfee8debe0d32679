/** Opens a store from storage options. Backends are loaded lazily. */
import { join } from "node:path";
import type { ServerLog } from "@kcp-ts/apiserver";
import type { SnapshotSource, SnapshotTarget, Storage } from "@kcp-ts/apiserver/storage";
import { type Clock, systemRandom } from "@kcp-ts/machinery/base";
import { OptionsError, type StorageOptions } from "../options.ts";
import { reachEtcd, readFlagFile } from "./start-up.ts";

export interface StorageContext {
  readonly rootDirectory: string;
  readonly clock: Clock;
  readonly log: ServerLog;
  /** The limit of recently used objects in memory, for backends that have such a cache. */
  readonly entryBytesMax?: number;
}

export type OpenedStorage = Storage & Partial<SnapshotSource & SnapshotTarget>;

export async function openStorage(
  options: StorageOptions,
  context: StorageContext,
): Promise<OpenedStorage> {
  switch (options.kind) {
    case "memory": {
      const { MemoryStorage } = await import("@kcp-ts/apiserver/storage/memory");
      return new MemoryStorage();
    }
    case "embedded": {
      const { EmbeddedStorage } = await import("@kcp-ts/apiserver/storage/embedded");
      return EmbeddedStorage.open({
        directory: embeddedDirectory(context.rootDirectory),
        clock: context.clock,
        log: (message) => context.log.warn({}, message),
        ...(context.entryBytesMax === undefined ? {} : { cacheBytesMax: context.entryBytesMax }),
      });
    }
    case "etcd":
      return openEtcd(options, context);
  }
}

export function embeddedDirectory(rootDirectory: string): string {
  return join(rootDirectory, "data");
}

async function openEtcd(
  options: Extract<StorageOptions, { kind: "etcd" }>,
  { clock }: StorageContext,
): Promise<OpenedStorage> {
  if (options.servers.length === 0) {
    throw new OptionsError(
      "--storage etcd needs --etcd-servers, for example --etcd-servers https://127.0.0.1:2379",
    );
  }
  const { EtcdStorage } = await import("@kcp-ts/apiserver/storage/etcd");
  const { caFile, certFile, keyFile, username, password, prefix } = options;
  const [ca, cert, key] = await Promise.all([
    readFlagFile("--etcd-cafile", caFile),
    readFlagFile("--etcd-certfile", certFile),
    readFlagFile("--etcd-keyfile", keyFile),
  ]);
  return reachEtcd(options.servers, () =>
    EtcdStorage.open({
      endpoints: options.servers,
      clock,
      random: systemRandom,
      ...(prefix === undefined ? {} : { prefix }),
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      tls: {
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key }),
      },
    }),
  );
}
