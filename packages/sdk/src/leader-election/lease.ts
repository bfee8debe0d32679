/** The Lease that candidates compete for, and its time format. */
import type { Lease } from "../kinds/index.ts";

export { type Lease, leases } from "../kinds/index.ts";

export type LeaseSpec = NonNullable<Lease["spec"]>;

/** Exactly six fractional digits, as in metav1.MicroTime. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
