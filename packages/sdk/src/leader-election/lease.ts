/** The Lease that candidates compete for, and its time format. */
import { builtInResource, type KubernetesObject } from "../client/index.ts";

export interface Lease extends KubernetesObject {
  readonly spec?: LeaseSpec;
}

export interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  /** Grows with every change of holder. */
  readonly leaseTransitions?: number;
}

export const leases = builtInResource<Lease>("leases.coordination.k8s.io");

/** Exactly six fractional digits, as in metav1.MicroTime. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
