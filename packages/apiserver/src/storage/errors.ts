/**
 * The one error class of this room, with a closed set of codes.
 *
 * - `conflict`: the key was not at the expected revision; `current` is where it is now (undefined: absent).
 * - `compacted`: the asked revision is older than the history that is kept; `oldest` is the first one that is left.
 * - `future`: the asked revision has not happened yet; `current` is the newest one.
 * - `overrun`: a watch fell too far behind and was ended.
 * - `too-large`: the value or key is larger than the backend takes.
 * - `unavailable`: the backend cannot answer now; a write may or may not have happened.
 * - `corrupt`: bytes on disk are not what was written; nothing was guessed.
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
