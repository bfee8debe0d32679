/**
 * The times of the agents' last renewals, by the clock of this process: an agent writes the time of
 * its own clock, which may be wrong. A change of the written time is a renewal; its difference to
 * the local clock is the clock skew.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { LeaseRenewal } from "../api/index.ts";

/** After this many durations of its Lease, the agent is lost. */
export const leasesUntilLost = 2;
/** A larger clock skew is reported: tokens and certificates are valid for limited times. */
export const clockSkewMaxMs = 30_000;

export interface Heartbeat {
  readonly renewal: LeaseRenewal;
  readonly silentMs: number;
  /** How far the agent's clock is ahead of the local clock; undefined when unknown. */
  readonly skewMs: number | undefined;
}

interface ObservedRenewal {
  readonly renewTime: string;
  readonly atMs: number;
  readonly skewMs: number | undefined;
}

export class Heartbeats {
  readonly #clock: Clock;
  readonly #seen = new Map<string, ObservedRenewal>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined before the first renewal. */
  observe(id: string, renewal: LeaseRenewal | undefined): Heartbeat | undefined {
    if (renewal === undefined) return undefined;
    const { renewTime, durationMs } = renewal;
    const nowMs = this.#clock.monotonic();
    const known = this.#seen.get(id);
    if (known?.renewTime === renewTime)
      return { renewal, silentMs: nowMs - known.atMs, skewMs: known.skewMs };
    const aheadMs = Date.parse(renewTime) - this.#clock.now();
    // The first renewal that this process observes may be old: its age is then an estimate, which
    // is never long enough to report the agent as lost.
    const silentMs = known === undefined ? Math.min(Math.max(0, -aheadMs), durationMs + 1) : 0;
    const skewMs = known === undefined ? undefined : aheadMs;
    this.#seen.set(id, { renewTime, atMs: nowMs - silentMs, skewMs });
    return { renewal, silentMs, skewMs };
  }

  forget(id: string): void {
    this.#seen.delete(id);
  }
}
