/**
 * Which lost connections an agent reports. Every renewal of a Lease and every connection of the
 * tunnel fails while the control plane is out of reach: each controller reports the first failure
 * of an outage, and then ever fewer.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { isTransportError } from "@kcp-ts/sdk";

const pauseMsMin = 10_000;
const pauseMsMax = 300_000;
/** A failure this long after the last one belongs to another outage. */
const outageGapMs = 60_000;

interface Outage {
  readonly reportedAtMs: number;
  readonly pauseMs: number;
  failedAtMs: number;
}

export class OutageReports {
  readonly #clock: Clock;
  readonly #outages = new Map<string, Outage>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the controller reports this error. An error of another kind is always reported. */
  take(controller: string, error: unknown): boolean {
    if (!isTransportError(error)) return true;
    const nowMs = this.#clock.monotonic();
    const known = this.#outages.get(controller);
    const isSame = known !== undefined && nowMs - known.failedAtMs < outageGapMs;
    if (isSame) known.failedAtMs = nowMs;
    if (isSame && nowMs - known.reportedAtMs < known.pauseMs) return false;
    const pauseMs = isSame ? Math.min(known.pauseMs * 2, pauseMsMax) : pauseMsMin;
    this.#outages.set(controller, { reportedAtMs: nowMs, pauseMs, failedAtMs: nowMs });
    return true;
  }
}
