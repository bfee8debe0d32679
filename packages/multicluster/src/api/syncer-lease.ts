/**
 * The Lease by which a syncer shows that it is alive (docs/adr/0076): one for each SyncTarget,
 * which owns it. The control plane creates the Lease, the syncer renews it, and the control plane
 * accepts it: an agent may run StopBeforeStart workloads only under an accepted Lease.
 */
import { type ObjectInput, stringMember } from "@kcp-ts/sdk";
import type { Lease } from "@kcp-ts/sdk/kinds";
import { leaseMsMax, leaseMsMin, type SyncTarget, syncTargets } from "./sync-target.ts";

/** The namespace of the Leases in the logical cluster of the SyncTarget. */
export const syncerLeaseNamespace = "default";
/** On every syncer's Lease, "true": selects it among all Leases. */
export const syncerLeaseLabel = "workload.kcp.io/syncer-lease";
/** Written by an agent with a tunnel: the time until its next renewal. */
export const renewIntervalAnnotation = "workload.kcp.io/renew-interval-seconds";
/**
 * Written by an agent, "true": it stops StopBeforeStart workloads when its Lease has expired. A
 * syncer that leaves it out does not.
 */
export const stopsAtExpiryAnnotation = "workload.kcp.io/stops-at-expiry";
/** Written by a syncer: the version of its program. */
export const syncerVersionAnnotation = "workload.kcp.io/syncer-version";
/**
 * Written by the control plane: the duration of the Lease that it accepts. Absent while the syncer
 * counts as lost: a renewal then does not prolong the Lease.
 */
export const acceptedLeaseAnnotation = "workload.kcp.io/accepted-lease-seconds";

export const leaseMsDefault = 60_000;

const namePrefix = "kcp-syncer-";

export function syncerLeaseName(target: string): string {
  return namePrefix + target;
}

/** The SyncTarget that a Lease of this name belongs to; undefined for other Leases. */
export function syncTargetOfLease(at: {
  readonly namespace: string;
  readonly name: string;
}): string | undefined {
  const isOne = at.namespace === syncerLeaseNamespace && at.name.startsWith(namePrefix);
  return isOne ? at.name.slice(namePrefix.length) : undefined;
}

export function newSyncerLease({ metadata: { name, uid = "" } }: SyncTarget): ObjectInput<Lease> {
  const { group, version, kind } = syncTargets;
  return {
    metadata: {
      namespace: syncerLeaseNamespace,
      name: syncerLeaseName(name),
      labels: { [syncerLeaseLabel]: "true" },
      ownerReferences: [{ apiVersion: `${group}/${version}`, kind, name, uid }],
    },
    spec: {},
  };
}

/** Whether the Lease belongs to the SyncTarget of this uid. */
export function isLeaseOf({ metadata }: Lease, uid: string | undefined): boolean {
  return metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

/** What a syncer's Lease says about the syncer. */
export interface LeaseRenewal {
  /** By the syncer's clock. */
  readonly renewTime: string;
  readonly durationMs: number;
  /** The time until the next renewal; undefined when the syncer does not announce it. */
  readonly intervalMs: number | undefined;
  readonly stopsAtExpiry: boolean;
}

/** Undefined before the first renewal. */
export function renewalOf(
  lease: Pick<Lease, "metadata" | "spec"> | undefined,
): LeaseRenewal | undefined {
  const { renewTime, leaseDurationSeconds } = lease?.spec ?? {};
  if (lease === undefined || renewTime === undefined) return undefined;
  const { annotations } = lease.metadata;
  const durationMs = (leaseDurationSeconds ?? leaseMsDefault / 1000) * 1000;
  const intervalMs = Number(stringMember(annotations, renewIntervalAnnotation)) * 1000;
  return {
    renewTime,
    durationMs: Math.min(Math.max(leaseMsMin, durationMs), leaseMsMax),
    intervalMs: intervalMs > 0 ? intervalMs : undefined,
    stopsAtExpiry: stringMember(annotations, stopsAtExpiryAnnotation) === "true",
  };
}

/** The duration for which a renewal of the Lease counts; undefined while it does not count. */
export function acceptedLeaseSeconds({ metadata }: Lease): number | undefined {
  const seconds = Number(stringMember(metadata.annotations, acceptedLeaseAnnotation));
  return seconds > 0 ? seconds : undefined;
}
