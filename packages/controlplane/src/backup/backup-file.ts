/** A backup file: it appears complete or not at all, readable by its owner alone. */
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { type BackupSummary, checkBackup } from "@kcp-ts/apiserver";
import { reasonOf } from "../compose/start-up.ts";
import { OptionsError } from "../options.ts";

export interface Progress {
  readonly entries: number;
  readonly bytes: number;
}

/**
 * Verifies the backup while it writes; the file gets its name only when the backup is complete and
 * on disk.
 */
export async function writeBackupFile(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  onProgress: (progress: Progress) => void,
): Promise<BackupSummary> {
  const target = resolve(path);
  const partial = `${target}.partial-${process.pid}`;
  const file = await openNamed("cannot write", partial, "wx");
  try {
    const summary = await checkBackup(chunks, async (chunk, { entries, bytes }) => {
      await writeAll(file, chunk);
      onProgress({ entries, bytes });
    });
    await file.sync();
    await file.close();
    await rename(partial, target);
    await syncFolder(dirname(target));
    return summary;
  } catch (error) {
    await file.close();
    await rm(partial, { force: true });
    throw error;
  }
}

async function openNamed(problem: string, path: string, flags: "r" | "wx"): Promise<FileHandle> {
  try {
    return await open(path, flags, ownerOnly);
  } catch (error) {
    const message = `${problem} ${path}: ${reasonOf(error)}; correct the path or its permissions`;
    throw new OptionsError(message, { cause: error });
  }
}

const ownerOnly = 0o600;

async function writeAll(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) {
    const { bytesWritten } = await file.write(chunk, at);
    at += bytesWritten;
  }
}

/** Syncs the folder, so that the new name survives a crash, too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export async function* readBackupFile(path: string): AsyncGenerator<Uint8Array> {
  const file = await openNamed("cannot read", path, "r");
  try {
    for (;;) {
      const chunk = Buffer.allocUnsafe(readBytes);
      const { bytesRead } = await file.read(chunk, 0, readBytes, null);
      if (bytesRead === 0) return;
      yield chunk.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

const readBytes = 256 << 10;
