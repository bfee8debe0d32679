/** The meaning of a request's error for an informer. No error ends an informer. */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Failure } from "./reflector-machine.ts";

export class WatchListUnsupportedError extends Error {
  override readonly name = "WatchListUnsupportedError";
}

export function classifyFailure(error: unknown): Failure {
  if (error instanceof WatchListUnsupportedError) return { kind: "no-initial-events" };
  if (!isStatusError(error)) return { kind: "unavailable" };
  const { code, status } = error;
  if (code === 429) {
    return { kind: "throttled", retryAfterMs: (status.details?.retryAfterSeconds ?? 1) * 1000 };
  }
  // The informer's version is ahead of the server's: the server was restored from a backup, and its
  // history is another one.
  const isAhead = status.details?.causes?.some(
    ({ reason }) => reason === "ResourceVersionTooLarge",
  );
  if (isAhead) return { kind: "expired" };
  if (code >= 500 || code === 408) return { kind: "unavailable" };
  // A 410 means that history is compacted; other client errors (the type was deleted, access was
  // revoked) may end with a state that is unrelated to the cached one.
  return { kind: "expired" };
}

/**
 * Servers before 1.32 reject `sendInitialEvents`, or do not know it. Later ones accept the watch,
 * and send the error 500 on it if their storage does not report its progress: an etcd before 3.4.31
 * or 3.5.13, for example.
 */
export function isWatchListUnsupported(error: unknown, { isOpen }: { isOpen: boolean }): boolean {
  if (!isStatusError(error)) return false;
  return error.code === 422 || error.code === 400 || (isOpen && error.code === 500);
}
