/**
 * The lease of an agent: the right to run what may run once at most. A heartbeat renews it, if the control plane's answer says that it counts: that the agent
 * is not held for silent already. Without it such copies are stopped (`fence.ts`).
 *
 * It counts from when the heartbeat was sent, by the agent's own clock: the control plane cannot have received it earlier, so it waits longer than the agent runs.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { leaseMsMax, leaseMsMin } from "../api/index.ts";

export const leaseMsDefault = 60_000;
/** Two may be lost before it is. */
const heartbeatsPerLease = 3;

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

  get heartbeatMs(): number {
    return this.durationMs / heartbeatsPerLease;
  }

  get isHeld(): boolean {
    return this.#clock.monotonic() < this.#untilMs;
  }

  /** Lost, or not got though it was asked for. Whoever just starts may have it still. */
  get isGone(): boolean {
    return this.#isTried && !this.isHeld;
  }

  /** One that was sent then (monotonic), and counts. */
  renewed(sentAtMs: number): void {
    this.#isTried = true;
    this.#untilMs = Math.max(this.#untilMs, sentAtMs + this.durationMs);
  }

  /** One that failed, or does not count. */
  refused(): void {
    this.#isTried = true;
  }
}
