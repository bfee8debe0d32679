/**
 * GET /backup serves all entries of the store as one stream, at one revision, during concurrent
 * writes.
 *
 * A backup contains every tenant's Secrets, so only members of system:masters may read it, whatever
 * an authorizer decides about the path.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { quote, StatusError, statusError } from "@kcp-ts/machinery/status";
import type { ApiRequest, ApiResponse } from "../request/api-request.ts";
import { isSystemMaster, type UserInfo, wellKnownGroup } from "../request/index.ts";
import type { OpenSnapshot, SnapshotSource } from "../storage/index.ts";
import { encodeBackup } from "./encode-backup.ts";

export const backupPath = "/backup";
export const backupType = "application/vnd.kcp-ts.backup";

export interface BackupDependencies {
  /** Undefined when the store has no snapshots. */
  readonly snapshots: SnapshotSource | undefined;
  readonly clock: Clock;
}

export async function serveBackup(
  request: ApiRequest,
  user: UserInfo,
  { snapshots, clock }: BackupDependencies,
): Promise<ApiResponse> {
  if (!isSystemMaster(user)) {
    throw statusError.forbiddenPath(
      `User ${quote(user.username)} cannot get path "${backupPath}": only members of ${wellKnownGroup.masters} can`,
    );
  }
  if (snapshots === undefined) throw notPossible;
  const gone = new AbortController();
  request.onClose(() => gone.abort(new Error("the client went away")));
  const snapshot = await snapshots.openSnapshot({ signal: gone.signal });
  const close = once(() => snapshot.close());
  // A response whose client has disconnected is never read. A reader of the response gets the error
  // of a failed close.
  request.onClose(() => {
    close().catch(() => undefined);
  });
  return {
    status: 200,
    headers: { "content-type": backupType },
    body: stream(snapshot, close, clock.now()),
  };
}

const notPossible = new StatusError({
  code: 501,
  reason: "NotImplemented",
  message:
    "this server keeps its data in memory only: there is nothing that a backup could outlive",
});

async function* stream(
  snapshot: OpenSnapshot,
  close: () => Promise<void>,
  createdAtMs: number,
): AsyncGenerator<Uint8Array> {
  try {
    yield* encodeBackup(snapshot, { createdAtMs });
  } finally {
    await close();
  }
}

function once(body: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= body();
    return running;
  };
}
