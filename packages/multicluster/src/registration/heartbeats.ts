/**
 * The times of the agents' last heartbeats, by the clock of this process: an agent writes the time
 * of its own clock, which may be wrong. A change of the written time is a heartbeat; its difference
 * to the local clock is the clock skew.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { leaseMsMax, leaseMsMin, type SyncTargetStatus } from "../api/index.ts";

/**
 * Without a heartbeat for this long, the state of the agent is Unknown. Agents with a lease of
 * their own write another time; all agents send heartbeats three times as often.
 */
export const heartbeatTimeoutMs = 60_000;
/** After this many timeouts, the agent is lost. */
export const timeoutsUntilLost = 2;
/** A larger clock skew is reported: tokens and certificates are valid for limited times. */
export const clockSkewMaxMs = 30_000;

export interface Heartbeat {
  /** The time as the agent wrote it. */
  readonly last: string;
  readonly silentMs: number;
  /** How long the agent may be silent. */
  readonly lateMs: number;
  /** How far the agent's clock is ahead of the local clock; undefined when unknown. */
  readonly skewMs: number | undefined;
}

type HeartbeatStatus = Pick<SyncTargetStatus, "lastHeartbeatTime" | "leaseDurationSeconds">;

/**
 * An agent that promises to stop workloads a certain time after its last heartbeat is not
 * considered healthy for longer.
 */
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

  /** Undefined before the first heartbeat. */
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
    // The first heartbeat that this process observes may be old: its age is then an estimate, which
    // is never long enough to report the agent as lost.
    const silentMs = known === undefined ? Math.min(Math.max(0, -aheadMs), lateMs + 1) : 0;
    const skewMs = known === undefined ? undefined : aheadMs;
    this.#seen.set(id, { last, atMs: nowMs - silentMs, skewMs });
    return { last, lateMs, silentMs, skewMs };
  }

  forget(id: string): void {
    this.#seen.delete(id);
  }
}
