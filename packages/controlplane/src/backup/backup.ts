/**
 * Backs up a store to a file. A directory that a server has open is read through that server; a
 * directory that is not open is read directly; etcd is always read directly.
 */
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type BackupSummary, encodeBackup, type ServerLog } from "@kcp-ts/apiserver";
import { isStorageError } from "@kcp-ts/apiserver/storage";
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { snapshotsOf } from "../compose/snapshots.ts";
import { embeddedDirectory, openStorage } from "../compose/storage.ts";
import { OptionsError, type StorageOptions } from "../options.ts";
import { type Progress, writeBackupFile } from "./backup-file.ts";
import { backupFromServer } from "./from-server.ts";

export interface BackupOptions {
  readonly file: string;
  readonly rootDirectory: string;
  readonly storage: StorageOptions;
  /** Reads from the server of this kubeconfig instead of a local store. */
  readonly kubeconfigPath?: string | undefined;
  readonly context?: string | undefined;
  readonly server?: string | undefined;
}

export interface BackupContext {
  readonly log: ServerLog;
  readonly signal: AbortSignal;
  readonly clock?: Clock;
  readonly onProgress?: (progress: Progress) => void;
}

export interface BackupResult extends BackupSummary {
  readonly file: string;
  readonly source: "server" | "embedded" | "etcd";
}

export async function backup(
  options: BackupOptions,
  context: BackupContext,
): Promise<BackupResult> {
  const { kubeconfigPath, server, storage } = options;
  const file = resolve(options.file);
  if (kubeconfigPath !== undefined || server !== undefined) {
    const path = kubeconfigPath ?? adminKubeconfig(options.rootDirectory);
    return { ...(await throughServer(options, path, context)), file, source: "server" };
  }
  if (storage.kind === "memory") throw new OptionsError("--storage memory has nothing to back up");
  if (storage.kind === "embedded") await checkDirectory(options.rootDirectory);
  try {
    return { ...(await direct(options, context)), file, source: storage.kind };
  } catch (error) {
    if (!isInUse(error)) throw error;
    const path = adminKubeconfig(options.rootDirectory);
    return { ...(await throughServer(options, path, context)), file, source: "server" };
  }
}

async function direct(
  { file, rootDirectory, storage }: BackupOptions,
  { log, signal, clock = systemClock, onProgress = () => undefined }: BackupContext,
): Promise<BackupSummary> {
  const opened = await openStorage(storage, { rootDirectory: resolve(rootDirectory), clock, log });
  try {
    const snapshots = snapshotsOf(opened);
    if (snapshots === undefined) throw new OptionsError("this store cannot be backed up");
    const snapshot = await snapshots.openSnapshot({ signal });
    try {
      const chunks = encodeBackup(snapshot, { createdAtMs: clock.now() });
      return await writeBackupFile(file, chunks, onProgress);
    } finally {
      await snapshot.close();
    }
  } finally {
    await opened.close();
  }
}

function throughServer(
  { file, context, server }: BackupOptions,
  kubeconfigPath: string,
  { signal, onProgress = () => undefined }: BackupContext,
): Promise<BackupSummary> {
  return backupFromServer({ kubeconfigPath, context, server, file, signal, onProgress });
}

function adminKubeconfig(rootDirectory: string): string {
  return join(resolve(rootDirectory), "admin.kubeconfig");
}

/** Opening a missing store would create an empty one. */
async function checkDirectory(rootDirectory: string): Promise<void> {
  const directory = embeddedDirectory(resolve(rootDirectory));
  try {
    await access(directory);
  } catch (error) {
    throw new OptionsError(
      `there is no data in ${directory}: name the server's --root-directory, its --etcd-servers, or a --kubeconfig to ask the server itself`,
      { cause: error },
    );
  }
}

function isInUse(error: unknown): boolean {
  return (
    isStorageError(error, "unavailable") &&
    (error.cause as { code?: unknown } | undefined)?.code === "LEVEL_LOCKED"
  );
}
