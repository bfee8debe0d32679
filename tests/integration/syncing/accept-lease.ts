/**
 * For tests without the controller of SyncTargets: the Lease of a syncer, which the controller
 * would create, and accept or not.
 */
import { acceptedLeaseAnnotation, newSyncerLease, type SyncTarget } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import { leases } from "@kcp-ts/sdk/kinds";

/** `seconds` is undefined when renewals do not count. */
export async function acceptLease(
  client: Client,
  target: SyncTarget,
  seconds: number | undefined,
): Promise<void> {
  const resource = client.resource(leases);
  const wanted = newSyncerLease(target);
  const { namespace = "", name = "" } = wanted.metadata;
  const at = { namespace, name };
  if ((await resource.find(at)) === undefined) await resource.create(wanted);
  const value = seconds === undefined ? null : String(seconds);
  const patch = { metadata: { annotations: { [acceptedLeaseAnnotation]: value } } };
  await resource.patch(at, { type: "merge", patch });
}
