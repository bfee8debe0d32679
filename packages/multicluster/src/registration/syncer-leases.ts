/**
 * The control plane's side of the syncers' Leases: it creates the Lease of a SyncTarget, and
 * accepts or rejects its renewals.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client, Clusters, ObjectKey, ObjectSource } from "@kcp-ts/sdk";
import { type Lease, leases } from "@kcp-ts/sdk/kinds";
import {
  acceptedLeaseAnnotation,
  acceptedLeaseSeconds,
  isLeaseOf,
  newSyncerLease,
  registrationFieldManager,
  type SyncTarget,
  syncerLeaseLabel,
  syncerLeaseName,
  syncerLeaseNamespace,
  syncTargetOfLease,
} from "../api/index.ts";

export interface SyncerLeasesOptions {
  readonly clusters: Clusters;
  /** The Lease of the SyncTarget with this key has changed. */
  readonly onChange: (key: ObjectKey) => void;
}

export class SyncerLeases {
  readonly #source: ObjectSource<Lease>;

  constructor({ clusters, onChange }: SyncerLeasesOptions) {
    const selector = { labelSelector: `${syncerLeaseLabel}=true` };
    this.#source = clusters.source(leases, { selector });
    const changed = (_lease: Lease, { key }: { readonly key: ObjectKey }) => {
      const name = syncTargetOfLease(key);
      if (name !== undefined) onChange({ cluster: key.cluster, namespace: "", name });
    };
    this.#source.addHandler({ added: changed, updated: changed, deleted: changed });
  }

  /** Undefined when the SyncTarget has no Lease yet; one of another uid is not its own. */
  of({ cluster, name }: ObjectKey, { metadata: { uid } }: SyncTarget): Lease | undefined {
    const found = this.#source.store.get({
      cluster,
      namespace: syncerLeaseNamespace,
      name: syncerLeaseName(name),
    });
    return found !== undefined && isLeaseOf(found, uid) ? found : undefined;
  }

  async ensure(
    client: Client,
    key: ObjectKey,
    target: SyncTarget,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.of(key, target) !== undefined) return;
    const resource = client.resource(leases);
    const wanted = newSyncerLease(target);
    const at = { namespace: syncerLeaseNamespace, name: syncerLeaseName(key.name) };
    const options = { fieldManager: registrationFieldManager, signal };
    const found = await resource.find(at, { signal });
    if (found !== undefined && isLeaseOf(found, target.metadata.uid)) return;
    // The Lease of a deleted SyncTarget of the same name.
    if (found !== undefined) await resource.sameObject(found).remove({ signal });
    try {
      await resource.create(wanted, options);
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
    }
  }

  /** `seconds` is the duration that renewals count for; undefined when they do not count. */
  async accept(
    client: Client,
    lease: Lease,
    seconds: number | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    if (acceptedLeaseSeconds(lease) === seconds) return;
    const value = seconds === undefined ? null : String(seconds);
    const annotations = { [acceptedLeaseAnnotation]: value };
    const options = { fieldManager: registrationFieldManager, signal };
    await client
      .resource(leases)
      .sameObject(lease)
      .mergePatch({ metadata: { annotations } }, options);
  }

  async remove(client: Client, key: ObjectKey, target: SyncTarget, signal: AbortSignal) {
    const lease = this.of(key, target);
    if (lease === undefined) return;
    try {
      await client.resource(leases).sameObject(lease).remove({ signal });
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}
