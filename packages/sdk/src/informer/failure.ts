/** What an error on the way to the server means for an informer. It never means the end. */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Failure } from "./informer-machine.ts";

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
  // Our version is ahead of the server's: it was restored from a backup, and its past is no longer ours.
  const isAhead = status.details?.causes?.some(
    ({ reason }) => reason === "ResourceVersionTooLarge",
  );
  if (isAhead) return { kind: "expired" };
  if (code >= 500 || code === 408) return { kind: "unavailable" };
  // 410 says it; other refusals (the type is gone, access was taken) end with a state that may have little to do with ours.
  return { kind: "expired" };
}

/**
 * Servers before 1.32 refuse `sendInitialEvents`, or do not know it. Later ones accept the watch, and say on it that they cannot (500), if their store
 * does not tell its progress: an etcd before 3.4.31 or 3.5.13, say.
 */
export function isWatchListUnsupported(error: unknown, { isOpen }: { isOpen: boolean }): boolean {
  if (!isStatusError(error)) return false;
  return error.code === 422 || error.code === 400 || (isOpen && error.code === 500);
}
