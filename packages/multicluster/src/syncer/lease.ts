/**
 * The lease as its agent sees it: the permission to run StopBeforeStart workloads. A renewal
 * prolongs the lease if the control plane's response accepts it, that is, if the agent does not
 * count as lost already. Without the lease, such copies are stopped (`fence.ts`).
 *
 * The lease counts from the time at which the renewal was sent, by the agent's own clock: the
 * control plane cannot have received it earlier, so the control plane waits longer than the agent
 * runs the copies.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { leaseMsMax, leaseMsMin } from "../api/index.ts";

/** Two renewals may be lost before the lease expires. */
export const renewalsPerLease = 3;

export class Lease {
  readonly durationMs: number;
  readonly #clock: Clock;
  #untilMs = Number.NEGATIVE_INFINITY;
  #isTried = false;

  constructor(clock: Clock, durationMs: number) {
    if (!(durationMs >= leaseMsMin && durationMs <= leaseMsMax))
      throw new RangeError(`a lease is from ${leaseMsMin} to ${leaseMsMax} ms, not ${durationMs}`);
    this.#clock = clock;
    this.durationMs = durationMs;
  }

  get isHeld(): boolean {
    return this.#clock.monotonic() < this.#untilMs;
  }

  /**
   * The lease has expired, or was requested and not granted. An agent that has just started may
   * still hold it.
   */
  get isGone(): boolean {
    return this.#isTried && !this.isHeld;
  }

  /** A renewal that was sent at this monotonic time was accepted. */
  renewed(sentAtMs: number): void {
    this.#isTried = true;
    this.#untilMs = Math.max(this.#untilMs, sentAtMs + this.durationMs);
  }

  /** A renewal failed, or was not accepted. */
  refused(): void {
    this.#isTried = true;
  }
}
