/**
 * GET /backup: the whole store as one stream, at one revision, while writes go on.
 *
 * It holds every tenant's Secrets, so it is for members of system:masters alone, whatever an authorizer says about the path.
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
  /** Undefined when the store cannot be read as a whole. */
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
  // An answer whose client is gone is not read, not even to its first byte. Whoever does read it hears of a failure to close.
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
