/**
 * The leases of simulated agents: their duration, and the longest time from the end of a lease
 * until all StopBeforeStart workloads have stopped.
 */
import { fenceMarginMs } from "../fencing.ts";

export const leaseMs = 20_000;
/** Kubernetes' default of a Pod's termination grace period. */
const terminationMs = 30_000;
export const stopLateMsMax = fenceMarginMs(leaseMs) + terminationMs;
