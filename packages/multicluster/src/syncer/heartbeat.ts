/**
 * Says on the SyncTarget that the syncer lives, and when it will say so again. A SyncTarget of another uid is another one: then nothing more is synced.
 *
 * An agent has a tunnel, or writes a heartbeat every two seconds (docs/adr/0061):
 *
 *                        the tunnel is up, and a heartbeat that says so was taken
 *     every two seconds ─────────────────────────────────────────────────────────▶ every third of the lease
 *             ▲                                                                           │
 *             └────────────────────── the tunnel breaks: one comes at once ───────────────┘
 */

import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, isConditionTrue, onAbort, pause, timestamp } from "@kcp-ts/sdk";
import { syncTargets, targetConditions, tunnellessHeartbeatMs } from "../api/index.ts";
import type { SyncContext } from "./context.ts";
import { SyncError } from "./trouble.ts";
import type { TunnelState } from "./tunnel-state.ts";

export interface HeartbeatOptions {
  readonly context: SyncContext;
  /** The logical cluster of the SyncTarget. */
  readonly client: Client;
  /** Of an agent. Who has none to speak of promises nothing. */
  readonly tunnel?: TunnelState | undefined;
  /** The SyncTarget is gone, or is another one of the same name. */
  readonly onLost: (message: string) => void;
}

/** Where there is no lease to renew. */
const intervalMsDefault = 20_000;
const retryMs = 1000;
/** Between two, however long the first took. */
const pauseMsMin = 200;

export async function runHeartbeat(options: HeartbeatOptions): Promise<void> {
  const { context, tunnel } = options;
  const { clock, random, signal, lease } = context;
  const longMs = lease?.heartbeatMs ?? intervalMsDefault;
  while (!signal.aborted) {
    const beganAtMs = clock.monotonic();
    const isUp = tunnel?.isUp ?? true;
    const periodMs = isUp ? longMs : Math.min(tunnellessHeartbeatMs, longMs);
    let isTaken = false;
    try {
      // One that does not count: held for silent, until the control plane has heard of us, which is soon.
      isTaken = await beat(options, periodMs);
    } catch (error) {
      if (signal.aborted) return;
      lease?.refused();
      context.onError(error);
    }
    const leftMs = beganAtMs + periodMs - clock.monotonic();
    const waitMs = isTaken ? Math.max(leftMs, pauseMsMin) : retryMs * (1 + random.next());
    // What was promised and is not true any more is said at once; what was not taken is said again soon anyway.
    await waited(context, waitMs, isTaken && tunnel !== undefined ? { tunnel, isUp } : undefined);
  }
}

/** Until the time is over, or the tunnel is not as it was. */
async function waited(
  { clock, signal }: SyncContext,
  waitMs: number,
  was: { readonly tunnel: TunnelState; readonly isUp: boolean } | undefined,
): Promise<void> {
  const early = new AbortController();
  const wake = () => early.abort();
  const stops = [onAbort(signal, wake), was?.tunnel.subscribe(wake) ?? (() => {})];
  if (was !== undefined && was.tunnel.isUp !== was.isUp) wake();
  try {
    await pause(clock, waitMs, early.signal);
  } catch (error) {
    if (!early.signal.aborted) throw error;
  } finally {
    for (const stop of stops) stop();
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
      throw new SyncError("Failed", message, { scope: "way" });
    }
    confirmedAtMs = clock.monotonic();
  };
}

/** Whether it counts for the lease, if there is one. */
async function beat(
  { client, context, tunnel, onLost }: HeartbeatOptions,
  periodMs: number,
): Promise<boolean> {
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
  const nowMs = clock.now();
  const lastHeartbeatTime = timestamp(nowMs);
  // Times have whole seconds; who writes none takes back what another has promised.
  const dueMs = nowMs + Math.ceil(periodMs / 1000) * 1000;
  const nextHeartbeatTime = tunnel === undefined ? null : timestamp(dueMs);
  const promise = lease && { leaseDurationSeconds: Math.ceil(lease.durationMs / 1000) };
  const sentAtMs = clock.monotonic();
  const { status } = await resource.patchStatus(
    { name },
    {
      type: "merge",
      patch: { metadata: { uid }, status: { lastHeartbeatTime, nextHeartbeatTime, ...promise } },
    },
    { fieldManager: "kcp-syncer-heartbeat", signal },
  );
  if (lease === undefined) return true;
  const counts = isConditionTrue(status?.conditions, targetConditions.heartbeatHealthy);
  if (counts) lease.renewed(sentAtMs);
  else lease.refused();
  return counts;
}
