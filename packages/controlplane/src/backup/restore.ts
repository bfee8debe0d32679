/**
 * Restores a file to an empty store. The file is read twice: an incomplete backup is rejected
 * before anything is written.
 */
import { resolve } from "node:path";
import { type BackupSummary, checkBackup, readBackup } from "@kcp-ts/apiserver";
import { isStorageError } from "@kcp-ts/apiserver/storage";
import { systemClock } from "@kcp-ts/machinery/base";
import { snapshotsOf } from "../compose/snapshots.ts";
import { makeRootDirectory } from "../compose/start-up.ts";
import { embeddedDirectory, openStorage } from "../compose/storage.ts";
import { OptionsError, type StorageOptions } from "../options.ts";
import type { BackupContext } from "./backup.ts";
import { readBackupFile } from "./backup-file.ts";

export interface RestoreOptions {
  readonly file: string;
  readonly rootDirectory: string;
  readonly storage: StorageOptions;
}

export interface RestoreResult extends BackupSummary {
  readonly file: string;
  readonly target: "embedded" | "etcd";
  /** Whether objects keep the resourceVersions of the backup; etcd assigns its own. */
  readonly keepsRevisions: boolean;
}

export async function restore(
  { file, rootDirectory, storage }: RestoreOptions,
  { log, signal, clock = systemClock, onProgress = () => undefined }: BackupContext,
): Promise<RestoreResult> {
  if (storage.kind === "memory") {
    throw new OptionsError("--storage memory keeps nothing: restore to embedded or etcd storage");
  }
  const summary = await checkBackup(readBackupFile(file));
  const root = resolve(rootDirectory);
  if (storage.kind === "embedded") await makeRootDirectory(root);
  const opened = await openStorage(storage, { rootDirectory: root, clock, log });
  try {
    const snapshots = snapshotsOf(opened);
    if (snapshots === undefined) throw new OptionsError("this store cannot be restored to");
    const { revision, entries } = await readBackup(readBackupFile(file));
    await snapshots.restoreSnapshot(
      { revision, entries: counted(entries, (count) => onProgress({ entries: count, bytes: 0 })) },
      { signal },
    );
  } catch (error) {
    throw isStorageError(error, "conflict") ? notEmpty(storage, root, error) : error;
  } finally {
    await opened.close();
  }
  const target = storage.kind;
  return { ...summary, file: resolve(file), target, keepsRevisions: target === "embedded" };
}

async function* counted<T>(
  items: AsyncIterable<T>,
  onCount: (count: number) => void,
): AsyncGenerator<T> {
  let count = 0;
  for await (const item of items) {
    yield item;
    if (++count % reportEvery === 0) onCount(count);
  }
  onCount(count);
}

const reportEvery = 1000;

function notEmpty(storage: StorageOptions, root: string, cause: unknown): OptionsError {
  const message =
    storage.kind === "etcd"
      ? `etcd already holds data under the prefix ${storage.prefix ?? "/kcp"}: restore under another --etcd-prefix, or delete those keys first`
      : `${embeddedDirectory(root)} already holds data: restore into another --root-directory, or move that folder away first`;
  return new OptionsError(message, { cause });
}
