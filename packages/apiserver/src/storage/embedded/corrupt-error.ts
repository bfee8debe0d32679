import { StorageError } from "../errors.ts";

/** `where` is a directory or a file; `what` is the damage. */
export function corruptError(where: string, what: string, cause?: unknown): StorageError {
  return new StorageError(
    "corrupt",
    `the data in ${where} is damaged: ${what}. Restore a backup with "kcp restore" into an empty directory, or move this directory away to start empty`,
    { cause },
  );
}
