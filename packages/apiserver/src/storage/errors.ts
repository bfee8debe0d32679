/**
 * The one error class of this folder, with a closed set of codes.
 *
 * - `conflict`: the key was not at the expected revision; `current` is its revision (undefined:
 *   absent).
 * - `compacted`: the requested revision is older than the kept history; `oldest` is the first
 *   remaining one.
 * - `future`: the requested revision has not happened yet; `current` is the newest one.
 * - `overrun`: a watch fell too far behind and was ended.
 * - `too-large`: the value or key exceeds the backend's limit.
 * - `unavailable`: the backend cannot respond now; a write may or may not have happened.
 * - `corrupt`: bytes on disk differ from what was written; nothing was guessed.
 * - `moving`: the logical cluster moves to another store, or has left: nothing was written.
 * - `closed`: the store was closed.
 */
import type { Revision } from "./revision.ts";

export type StorageErrorCode =
  | "conflict"
  | "compacted"
  | "future"
  | "overrun"
  | "too-large"
  | "unavailable"
  | "corrupt"
  | "moving"
  | "closed";

export interface StorageErrorDetails {
  readonly current?: Revision | undefined;
  readonly oldest?: Revision | undefined;
  readonly cause?: unknown;
}

export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly code: StorageErrorCode;
  readonly current: Revision | undefined;
  readonly oldest: Revision | undefined;

  constructor(code: StorageErrorCode, message: string, details: StorageErrorDetails = {}) {
    super(
      `${code}: ${message}`,
      details.cause === undefined ? undefined : { cause: details.cause },
    );
    this.code = code;
    this.current = details.current;
    this.oldest = details.oldest;
  }
}

export function isStorageError(error: unknown, code?: StorageErrorCode): error is StorageError {
  return (
    error instanceof Error &&
    error.name === "StorageError" &&
    (code === undefined || (error as StorageError).code === code)
  );
}
