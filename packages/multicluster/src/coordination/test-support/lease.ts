/** Agents of pretend clusters, by their leases: how long one lasts, and by how much it may take longer until all that may run once at most has stopped. */
import { fenceMarginMs } from "../fencing.ts";

export const leaseMs = 20_000;
/** What Kubernetes gives Pods to end. */
const terminationMs = 30_000;
export const stopLateMsMax = fenceMarginMs(leaseMs) + terminationMs;
