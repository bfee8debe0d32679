/** Says on the SyncTarget that the syncer lives. A SyncTarget of another uid is another one: then nothing more is synced. */

import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, isConditionTrue, pause, timestamp } from "@kcp-ts/sdk";
import { syncTargets, targetConditions } from "../api/index.ts";
import type { SyncContext } from "./context.ts";
import { Trouble } from "./trouble.ts";

export interface HeartbeatOptions {
  readonly context: SyncContext;
  /** The logical cluster of the SyncTarget. */
  readonly client: Client;
  /** The SyncTarget is gone, or is another one of the same name. */
  readonly onLost: (message: string) => void;
}

/** Where there is no lease to renew. */
const intervalMsDefault = 20_000;
const retryMs = 1000;

export async function runHeartbeat(options: HeartbeatOptions): Promise<void> {
  const { context } = options;
  const { clock, random, signal, lease } = context;
  const intervalMs = lease?.heartbeatMs ?? intervalMsDefault;
  while (!signal.aborted) {
    let waitMs = intervalMs;
    try {
      const counts = await beat(options);
      // Held for silent: until the control plane has heard of us, which is soon.
      if (!counts) waitMs = retryMs * (1 + random.next());
    } catch (error) {
      if (signal.aborted) return;
      lease?.refused();
      context.onError(error);
      waitMs = retryMs * (1 + random.next());
    }
    try {
      await pause(clock, waitMs, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

/** An answer counts for so long. */
const confirmedForMs = 5000;

/**
 * A control plane that lost its data has lost the SyncTarget too: its silence about objects is not the wish that they go. Without a `home` there is nobody to
 * ask, and the word of each object counts.
 */
export function targetConfirmation(options: {
  readonly home: Client | undefined;
  readonly target: SyncContext["target"];
  readonly clock: SyncContext["clock"];
  readonly signal: AbortSignal;
}): () => Promise<void> {
  const { home, target, clock, signal } = options;
  let confirmedAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    if (home === undefined || clock.monotonic() - confirmedAtMs < confirmedForMs) return;
    const { name, uid } = target;
    const found = await home.resource(syncTargets).find({ name }, { signal });
    if (found?.metadata.uid !== uid) {
      const message = `SyncTarget ${name} with uid ${uid} is not there: nothing is deleted in its cluster`;
      throw new Trouble("Failed", message, { scope: "way" });
    }
    confirmedAtMs = clock.monotonic();
  };
}

/** Whether it counts for the lease, if there is one. */
async function beat({ client, context, onLost }: HeartbeatOptions): Promise<boolean> {
  const { target, clock, signal, lease } = context;
  const resource = client.resource(syncTargets);
  const { name, uid } = target;
  let found: string | undefined;
  try {
    found = (await resource.get({ name }, { signal })).metadata.uid;
  } catch (error) {
    if (!isStatusError(error, "NotFound") || error.status.details?.name !== name) throw error;
    onLost(`there is no SyncTarget ${name} any more, refusing to sync`);
    return true;
  }
  if (found !== uid) {
    onLost(`unexpected SyncTarget UID ${found}, expected ${uid}, refusing to sync`);
    return true;
  }
  const lastHeartbeatTime = timestamp(clock.now());
  const promise = lease && { leaseDurationSeconds: Math.ceil(lease.durationMs / 1000) };
  const sentAtMs = clock.monotonic();
  const { status } = await resource.patchStatus(
    { name },
    { type: "merge", patch: { metadata: { uid }, status: { lastHeartbeatTime, ...promise } } },
    { fieldManager: "kcp-syncer-heartbeat", signal },
  );
  if (lease === undefined) return true;
  const counts = isConditionTrue(status?.conditions, targetConditions.heartbeatHealthy);
  if (counts) lease.renewed(sentAtMs);
  else lease.refused();
  return counts;
}
