/**
 * When agents were last heard of, by the clock of whoever listens: an agent writes the time of its own clock, which may be any. That the time changes is the
 * sign of life; by how much it differs from ours says how far the clocks are apart.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { leaseMsMax, leaseMsMin, type SyncTargetStatus } from "../api/index.ts";

/** Nobody was heard of for so long: it cannot be told how the agent does. Agents with a lease of their own say another time; all write three times as often. */
export const heartbeatTimeoutMs = 60_000;
/** And for so many times as long: it is gone. */
export const timeoutsUntilLost = 2;
/** Clocks that are further apart are spoken of: tokens and certificates are good for times. */
export const clockSkewMaxMs = 30_000;

export interface Heartbeat {
  /** As the agent wrote it. */
  readonly last: string;
  readonly silentMs: number;
  /** So long it may be silent. */
  readonly lateMs: number;
  /** How far the agent's clock is ahead of ours; undefined when it is not known. */
  readonly skewMs: number | undefined;
}

type HeartbeatStatus = Pick<SyncTargetStatus, "lastHeartbeatTime" | "leaseDurationSeconds">;

/** Who promises to stop things so long after a heartbeat is not to be relied on for longer. */
export function heartbeatTimeoutMsOf({
  leaseDurationSeconds: seconds,
}: Pick<SyncTargetStatus, "leaseDurationSeconds"> = {}): number {
  if (seconds === undefined) return heartbeatTimeoutMs;
  return Math.min(Math.max(leaseMsMin, seconds * 1000), leaseMsMax);
}

interface ObservedHeartbeat {
  readonly last: string;
  readonly atMs: number;
  readonly skewMs: number | undefined;
}

export class Heartbeats {
  readonly #clock: Clock;
  readonly #seen = new Map<string, ObservedHeartbeat>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined when there was none yet. */
  observe(
    id: string,
    { lastHeartbeatTime: last, ...status }: HeartbeatStatus,
  ): Heartbeat | undefined {
    if (last === undefined) return undefined;
    const lateMs = heartbeatTimeoutMsOf(status);
    const nowMs = this.#clock.monotonic();
    const known = this.#seen.get(id);
    if (known?.last === last)
      return { last, lateMs, silentMs: nowMs - known.atMs, skewMs: known.skewMs };
    const aheadMs = Date.parse(last) - this.#clock.now();
    // The first that we see may be old: then its age is a guess, and never one that says that the agent is gone.
    const silentMs = known === undefined ? Math.min(Math.max(0, -aheadMs), lateMs + 1) : 0;
    const skewMs = known === undefined ? undefined : aheadMs;
    this.#seen.set(id, { last, atMs: nowMs - silentMs, skewMs });
    return { last, lateMs, silentMs, skewMs };
  }

  forget(id: string): void {
    this.#seen.delete(id);
  }
}
