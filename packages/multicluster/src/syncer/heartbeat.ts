/**
 * Writes to the SyncTarget that the syncer is alive, and when the next heartbeat follows. A
 * SyncTarget with another uid is another SyncTarget: the syncer then stops syncing.
 *
 * An agent has a tunnel, or writes a heartbeat every two seconds (docs/adr/0061):
 *
 *                     the tunnel is up, and a heartbeat that says so was accepted
 *     every two seconds ───────────────────────────────────────────▶ every third of the lease
 *             ▲                                                                │
 *             └────────── the tunnel breaks: a heartbeat follows immediately ──┘
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, isConditionTrue, onAbort, pause, timestamp } from "@kcp-ts/sdk";
import { syncTargets, targetConditions, tunnellessHeartbeatMs } from "../api/index.ts";
import type { SyncContext } from "./context.ts";
import { SyncError } from "./sync-error.ts";
import type { TunnelState } from "./tunnel-state.ts";

export interface HeartbeatOptions {
  readonly context: SyncContext;
  /** A client of the SyncTarget's logical cluster. */
  readonly client: Client;
  /** The tunnel of an agent. A syncer without one promises no interval. */
  readonly tunnel?: TunnelState | undefined;
  /** The SyncTarget was deleted, or replaced by another one of the same name. */
  readonly onLost: (message: string) => void;
}

/** The interval of a syncer without a lease. */
const intervalMsDefault = 20_000;
const retryMs = 1000;
/** The minimal pause between two heartbeats, however long the first one took. */
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
      // The heartbeat is not accepted while the control plane considers the agent silent, which
      // ends soon after the control plane has observed a heartbeat.
      isTaken = await beat(options, periodMs);
    } catch (error) {
      if (signal.aborted) return;
      lease?.refused();
      context.onError(error);
    }
    const leftMs = beganAtMs + periodMs - clock.monotonic();
    const waitMs = isTaken ? Math.max(leftMs, pauseMsMin) : retryMs * (1 + random.next());
    // A promise that no longer holds is updated immediately; a heartbeat that was not accepted is
    // repeated soon anyway.
    await waited(context, waitMs, isTaken && tunnel !== undefined ? { tunnel, isUp } : undefined);
  }
}

/** Waits until the time has passed, or the state of the tunnel changes. */
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

/** How long a confirmation is valid. */
const confirmedForMs = 5000;

/**
 * A control plane that has lost its data has lost the SyncTarget, too: that objects are missing
 * there does not mean that they were deleted. Without `syncTargetClient`, no confirmation is
 * possible, and the live read of each object decides.
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
      throw new SyncError("Failed", message, { scope: "connection" });
    }
    confirmedAtMs = clock.monotonic();
  };
}

/** Whether the heartbeat renews the lease, if there is one. */
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
  // Times have whole seconds; a heartbeat without a promise removes the promise of another agent.
  const dueMs = nowMs + Math.ceil(periodMs / 1000) * 1000;
  const nextHeartbeatTime = tunnel === undefined ? null : timestamp(dueMs);
  const promise = lease && { leaseDurationSeconds: Math.ceil(lease.durationMs / 1000) };
  const sentAtMs = clock.monotonic();
  const { status } = await resource
    .sameObject({ metadata: { name, uid } })
    .mergePatchStatus(
      { status: { lastHeartbeatTime, nextHeartbeatTime, ...promise } },
      { fieldManager: "kcp-syncer-heartbeat", signal },
    );
  if (lease === undefined) return true;
  const counts = isConditionTrue(status?.conditions, targetConditions.heartbeatHealthy);
  if (counts) lease.renewed(sentAtMs);
  else lease.refused();
  return counts;
}
