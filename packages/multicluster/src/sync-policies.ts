/** The SyncPolicies of all logical clusters, watched for the syncers of this process. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Clusters, ObjectStore } from "@kcp-ts/sdk";
import { type SyncPolicy, syncPolicies } from "./api/index.ts";
import { type Policies, policiesOf } from "./syncer/index.ts";

export interface SyncPoliciesOptions {
  readonly clusters: Clusters;
  readonly onChange: (cluster: ClusterName) => void;
  /** Called when all policies have been read, for the first time or again. */
  readonly onSynced: () => void;
}

export class SyncPolicies {
  readonly #store: ObjectStore<SyncPolicy>;
  #hasSynced = false;

  constructor({ clusters, onChange, onSynced }: SyncPoliciesOptions) {
    const source = clusters.source(syncPolicies);
    this.#store = source.store;
    source.addHandler({
      added: (_object, { key }) => onChange(key.cluster),
      updated: (_object, { key }) => onChange(key.cluster),
      deleted: (_object, { key }) => onChange(key.cluster),
      replaced: () => {
        this.#hasSynced = true;
        onSynced();
      },
    });
  }

  /**
   * No object is synced before the policies are known: a syncer without them would overwrite fields
   * of autoscalers.
   */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  of(cluster: ClusterName, target: string): Policies {
    return policiesOf(this.#store.list({ cluster }), target);
  }
}
